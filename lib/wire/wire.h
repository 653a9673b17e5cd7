/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_WIRE_WIRE_H
#define HB_WIRE_WIRE_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/base/strv.h"

/* Frames and messages of a control link; no I/O. On the wire: the agent's
 * stream begins with HB_WIRE_MAGIC (what comes before it is chatter of that
 * host's login and not for us), then frames in both directions:
 *
 *   u32 length of what follows   u16 type   u16 flags (0)
 *   u32 epoch   u32 source   u32 destination   payload
 *
 * All big-endian. A payload is its message's fields in order and nothing
 * else: numbers as they are; str: u32 length, bytes, NUL; blob: u32 length,
 * bytes; strv: u32 count, u32 bytes, the strings end to end, each with its
 * NUL; u32s: u32 count, the numbers. */
#define HB_WIRE_MAGIC "\033hpcboot-link 1\n"
#define HB_WIRE_MAGIC_LEN (sizeof(HB_WIRE_MAGIC) - 1)
#define HB_WIRE_PROTOCOL 1u
#define HB_WIRE_LENGTH_WORD 4u
#define HB_WIRE_HEADER 20u /* bytes, the length word included */

#define HB_WIRE_STR (1u << 20)   /* a program argument may be 128 KiB */
#define HB_WIRE_BLOB (256u << 20) /* a fence of a large job */
#define HB_WIRE_LIST (1u << 20)  /* entries of a strv or u32s */
#define HB_WIRE_FILE_CHUNK (256u << 10) /* others get their turn between */
#define HB_WIRE_EVENT (64u << 10) /* what an event tells beside its code */
/* Bytes that wait on a way: an event is not added to more, but left out, as
 * nothing holds back those who give events. */
#define HB_WIRE_EVENTS_WAIT (16u << 20)
#define HB_WIRE_FRAME (HB_WIRE_BLOB + (64u << 20))

/* Source and destination are the numbers of hosts in the gang, or: */
#define HB_NODE_LAUNCHER 0xffffffffu /* the launcher's own address */
#define HB_NODE_ALL 0xfffffffeu      /* every agent below */
#define HB_NODE_UNSET 0xfffffffdu    /* an agent that was not welcomed yet */
#define HB_ALL_RANKS 0xffffffffu

#define HB_WIRE_PROOFS 8u /* keys an agent proves that it holds, at most */

/* JOB.flags */
#define HB_JOB_MERGE_STDERR 0x1u   /* stderr of ranks goes to stdout's pipe */
#define HB_JOB_OVERSUBSCRIBED 0x2u /* more ranks than counted slots here */
#define HB_JOB_RAW_OUTPUT 0x4u     /* do not cut output into lines */
#define HB_JOB_KEEP_GOING 0x8u     /* a failed rank does not end the others */
#define HB_JOB_RESPAWN 0x40u       /* a rank that failed may be started again */
#define HB_JOB_ELASTIC 0x80u       /* hosts may come while ranks run */
#define HB_JOB_GUESSED 0x100u      /* no MPI was found; the family is a guess */
#define HB_JOB_SHOW_BARS 0x200u    /* lines under way that go back, at once */
#define HB_JOB_LOOKS 0x400u        /* its ranks only look at the host */
#define HB_JOB_UNBUFFERED 0x800u   /* stdout of ranks is a terminal */
#define HB_JOB_ANSWERS 0x1000u     /* stdin may bring an answer to a question */
#define HB_JOB_REPORT_BINDINGS 0x20u /* say which CPUs, GPUs ranks got */
#define HB_JOB_USE_PID1_ENV 0x10u  /* import the pod's PID 1 environment */
/* RANK_EXIT.contact, CONTACT.contact */
#define HB_CONTACT_SERVER 0x1u   /* connected to its server */
#define HB_CONTACT_INIT 0x2u     /* initialised */
#define HB_CONTACT_FINALIZE 0x4u /* finalised */
#define HB_CONTACT_MPI 0x8u      /* its program links an MPI library */
#define HB_CONTACT_NATIVE 0x10u  /* libhpcboot was what connected */
#define HB_CONTACT_BEGUN 0x20u   /* CONTACT: hpcboot_init is behind its ranks */
/* OUTPUT.flags; nobody acts on them */
#define HB_OUT_PARTIAL 0x1u /* the line goes on in the next piece */
#define HB_OUT_CONTINUED 0x2u /* this piece continues a line */
/* BYE.status: somebody has looked at the host, and brought no job */
#define HB_BYE_NO_JOB 0xffffffffu
/* STDIN.flags */
#define HB_IN_EOF 0x1u
/* JOB.stdin_mode */
enum hb_stdin_mode { HB_STDIN_RANK, HB_STDIN_ALL, HB_STDIN_NONE };
/* PORTS.wanted */
#define HB_PORT_MUST 0x10000u
/* MET.seen: the place was listened at; a connection from or to another host;
 * from another rank of this one. */
#define HB_MET_LISTENER 0x1u
#define HB_MET_FAR 0x2u
#define HB_MET_NEAR 0x4u
/* NAME.op */
enum hb_name_op {
    HB_NAME_PUBLISH, HB_NAME_LOOKUP, HB_NAME_UNPUBLISH,
    HB_NAME_COUNT, /* the next number for a spawned job, 4 bytes */
    HB_NAME_PUBLISH_ONCE, /* for the first who looks it up alone */
    HB_NAME_UNPUBLISH_OWN, /* where what is published begins with the value */
    HB_NAME_WAIT, /* looks up, and is answered when it is there */
    HB_NAME_GIVE_UP, /* what waits under this id is answered: not found */
    HB_NAME_GONE /* the value, who has published, asks no more; no answer */
};

enum hb_msg_type {
#define HB_MESSAGE(ID, name, number, fields) HB_MSG_##ID = number,
#include "lib/wire/messages.def"
#undef HB_MESSAGE
    HB_MSG_TYPES /* one more than the last */
};

/* A list of strings: as written (`v`), or as read (`n` strings in `raw`). */
struct hb_wire_strv {
    char *const *v;
    uint32_t n;
    struct hb_bytes raw;
};
struct hb_wire_u32s {
    const uint32_t *v; /* as written */
    uint32_t n;
    struct hb_bytes raw; /* as read, 4*n bytes big-endian */
};

#define HB_TYPE_u8 uint8_t
#define HB_TYPE_u16 uint16_t
#define HB_TYPE_u32 uint32_t
#define HB_TYPE_u64 uint64_t
#define HB_TYPE_i32 int32_t
#define HB_TYPE_str const char *
#define HB_TYPE_blob struct hb_bytes
#define HB_TYPE_strv struct hb_wire_strv
#define HB_TYPE_u32s struct hb_wire_u32s

#define F(kind, field) HB_TYPE_##kind field;
#define HB_MESSAGE(ID, name, number, fields) struct hb_msg_##name { fields };
#include "lib/wire/messages.def"
#undef HB_MESSAGE
#undef F

struct hb_frame {
    uint16_t type; /* enum hb_msg_type */
    uint32_t epoch, src, dst;
    struct hb_bytes payload; /* borrowed from the input */
};

/* put: appends one whole frame to *out, or nothing and HPCBOOT_ERR_LIMIT;
 * *out has then failed (hb_buf_failed), and a link ends over it. A NULL str
 * is sent as ""; a list that was read may be sent on as it is.
 * get: HPCBOOT_ERR_PROTOCOL where the payload is not exactly such a message
 * or the frame is of another type. */
#define HB_MESSAGE(ID, name, number, fields)                                \
    int hb_wire_put_##name(struct hb_buf *out, uint32_t epoch, uint32_t src, \
                           uint32_t dst, const struct hb_msg_##name *msg,    \
                           struct hpcboot_error *err);                       \
    int hb_wire_get_##name(const struct hb_frame *frame,                     \
                           struct hb_msg_##name *msg_out,                    \
                           struct hpcboot_error *err);
#include "lib/wire/messages.def"
#undef HB_MESSAGE

/* The bytes of the frame that begins there, its length word included; as long
 * as that has not come, those of the word. */
uint64_t hb_wire_whole(const struct hb_buf *in);
/* Takes the next whole frame out of `in`: 1 and *frame_out (valid until `in`
 * changes), 0 when more bytes are needed, or HPCBOOT_ERR_PROTOCOL. */
int hb_wire_next(struct hb_buf *in, struct hb_frame *frame_out,
                 struct hpcboot_error *err);
/* Appends a frame whose payload is already encoded (forwarding). */
int hb_wire_put_frame(struct hb_buf *out, const struct hb_frame *frame,
                      struct hpcboot_error *err);
const char *hb_wire_type_name(unsigned type); /* "HELLO"; never NULL */

/* Reads a decoded list: start with *pos = 0; NULL at the end. */
const char *hb_wire_strv_next(const struct hb_wire_strv *list, size_t *pos);
/* Appends copies of what is in a decoded list. */
void hb_wire_strv_copy(struct hb_strv *out, const struct hb_wire_strv *list);
/* The i-th number, 0 past the end; of a list as written or as read. */
uint32_t hb_wire_u32s_at(const struct hb_wire_u32s *list, uint32_t i);
/* Of a NULL-terminated vector; v may be NULL. */
struct hb_wire_strv hb_wire_strv_of(char *const *v);

#endif
