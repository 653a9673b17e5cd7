/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The arithmetic of the reference (coll_ref.h): one element at a time, folded
 * from the left in the precision that the public header promises. */

#include "config.h"

#include "coll_ref.h"

#include <math.h>
#include <string.h>

float coll_ref_half_value(uint16_t h)
{
    int exp = h >> 10 & 31, frac = h & 1023;
    float f = exp == 0    ? ldexpf((float)frac, -24)
              : exp == 31 ? (frac ? NAN : INFINITY)
                          : ldexpf((float)(frac + 1024), exp - 25);
    return h & 0x8000 ? -f : f;
}

/* By search among all halves: slow, and plainly right. */
uint16_t coll_ref_half_bits(float f)
{
    uint16_t sign = signbit(f) ? 0x8000 : 0;
    float a = fabsf(f);
    if (isnan(f)) {
        return 0x7e00;
    }
    int lo = 0, hi = 0x7c00; /* the first that is not below */
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (coll_ref_half_value((uint16_t)mid) < a) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return sign;
    }
    /* The largest half is 65504; 65520 is the first that rounds to infinity */
    double above = lo == 0x7c00 ? 65536.0
                                : (double)coll_ref_half_value((uint16_t)lo);
    double below = coll_ref_half_value((uint16_t)(lo - 1));
    double mid = (above + below) / 2;
    int pick = a < mid || (a == mid && lo % 2 == 1) ? lo - 1 : lo;
    return sign | (uint16_t)pick;
}

static float bf_value(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

uint16_t coll_ref_bf_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t low = u & 0xffff, up = u >> 16;
    if (isnan(f)) {
        return (uint16_t)(up | 0x40);
    }
    return (uint16_t)(up + (low > 0x8000 || (low == 0x8000 && up % 2)));
}

/* x -> a x + b over bytes: composed, neither commutes nor is lossless. */
static void affine(const void *in, void *inout, size_t count,
                   enum hpcboot_type type, void *arg)
{
    const uint8_t *x = in;
    uint8_t *y = inout;
    (void)type;
    (void)arg;
    for (size_t i = 0; i + 1 < count; i += 2) {
        y[i + 1] = (uint8_t)(x[i] * y[i + 1] + x[i + 1]);
        y[i] = (uint8_t)(x[i] * y[i]);
    }
}

const struct hb_coll_user_op coll_ref_user = {affine, NULL, false, 2};

#define REAL(T, a, b)                                                      \
    switch (op) {                                                          \
    case HPCBOOT_SUM: case HPCBOOT_AVG: return (T)((a) + (b));             \
    case HPCBOOT_PROD: return (T)((a) * (b));                              \
    case HPCBOOT_MIN:                                                      \
        return (a) != (a) || (b) != (b) ? (T)NAN : (b) < (a) ? (b) : (a);  \
    default:                                                               \
        return (a) != (a) || (b) != (b) ? (T)NAN : (b) > (a) ? (b) : (a);  \
    }

static float float_op(int op, float a, float b)
{
    REAL(float, a, b)
}

static double double_op(int op, double a, double b)
{
    REAL(double, a, b)
}

static uint64_t int_op(int op, uint64_t a, uint64_t b, bool a_less)
{
    switch (op) {
    case HPCBOOT_SUM: return a + b;
    case HPCBOOT_PROD: return a * b;
    case HPCBOOT_MIN: return a_less ? a : b;
    case HPCBOOT_MAX: return a_less ? b : a;
    case HPCBOOT_BAND: return a & b;
    case HPCBOOT_BOR: return a | b;
    case HPCBOOT_BXOR: return a ^ b;
    case HPCBOOT_LAND: return a && b;
    case HPCBOOT_LOR: return a || b;
    default: return !a != !b;
    }
}

static void fold_ints(const struct coll_case *c, const char *const *src,
                      int n, char *dst)
{
    size_t e = hb_coll_type_size(c->type);
    bool is_signed = c->type <= HPCBOOT_INT64;
    int shift = 64 - 8 * (int)e;
    uint64_t acc = 0;
    memcpy(&acc, src[0], e);
    for (int s = 1; s < n; s++) {
        uint64_t x = 0;
        memcpy(&x, src[s], e);
        bool less = is_signed ? (int64_t)(acc << shift) < (int64_t)(x << shift)
                              : acc << shift < x << shift;
        acc = int_op(c->op, acc, x, less);
        acc = acc << shift >> shift;
    }
    memcpy(dst, &acc, e);
}

static void fold_half(const struct coll_case *c, const char *const *src,
                      int n, char *dst)
{
    bool bf = c->type == HPCBOOT_BFLOAT16;
    uint16_t h;
    float acc = 0;
    for (int s = 0; s < n; s++) {
        memcpy(&h, src[s], 2);
        float x = bf ? bf_value(h) : coll_ref_half_value(h);
        acc = s == 0 ? x : float_op(c->op, acc, x);
    }
    acc = c->op == HPCBOOT_AVG ? acc / (float)c->ranks : acc;
    h = bf ? coll_ref_bf_bits(acc) : coll_ref_half_bits(acc);
    memcpy(dst, &h, 2);
}

/* Parts of a complex or real number in float or double. */
static void fold_floats(const struct coll_case *c, const char *const *src,
                        int n, char *dst, int parts, bool twice)
{
    double acc[2] = {0}, x[2] = {0};
    for (int s = 0; s < n; s++) {
        for (int i = 0; i < parts; i++) {
            float f;
            memcpy(&f, src[s] + 4 * i, 4);
            x[i] = f;
            if (twice) {
                memcpy(&x[i], src[s] + 8 * i, 8);
            }
        }
        if (s == 0) {
            memcpy(acc, x, sizeof acc);
        } else if (parts == 2 && c->op == HPCBOOT_PROD && twice) {
            double re = acc[0] * x[0] - acc[1] * x[1];
            acc[1] = acc[0] * x[1] + acc[1] * x[0];
            acc[0] = re;
        } else if (parts == 2 && c->op == HPCBOOT_PROD) {
            float a = (float)acc[0], b = (float)acc[1];
            float p = (float)x[0], q = (float)x[1];
            acc[0] = a * p - b * q;
            acc[1] = a * q + b * p;
        } else {
            for (int i = 0; i < parts; i++) {
                acc[i] = twice ? double_op(c->op, acc[i], x[i])
                               : float_op(c->op, (float)acc[i], (float)x[i]);
            }
        }
    }
    for (int i = 0; i < parts; i++) {
        if (c->op == HPCBOOT_AVG) {
            acc[i] = twice ? acc[i] / c->ranks
                           : (float)acc[i] / (float)c->ranks;
        }
        float f = (float)acc[i];
        memcpy(dst + (twice ? 8 : 4) * i, twice ? (void *)&acc[i] : &f,
               twice ? 8 : 4);
    }
}

static double pair_value(enum hpcboot_type type, const char *at, int64_t *whole,
                         int32_t *index)
{
    struct hpcboot_float_int f;
    struct hpcboot_double_int d;
    struct hpcboot_int32_int i;
    struct hpcboot_int64_int l;
    *whole = 0;
    switch (type) {
    case HPCBOOT_FLOAT_INT:
        memcpy(&f, at, sizeof f);
        *index = f.index;
        return f.value;
    case HPCBOOT_DOUBLE_INT:
        memcpy(&d, at, sizeof d);
        *index = d.index;
        return d.value;
    case HPCBOOT_INT32_INT:
        memcpy(&i, at, sizeof i);
        *index = i.index;
        *whole = i.value;
        return 0;
    default:
        memcpy(&l, at, sizeof l);
        *index = l.index;
        *whole = l.value;
        return 0;
    }
}

static void fold_pairs(const struct coll_case *c, const char *const *src,
                       int n, char *dst)
{
    int best = 0;
    for (int s = 1; s < n; s++) {
        int64_t wa, wb;
        int32_t ia, ib;
        double a = pair_value(c->type, src[best], &wa, &ia);
        double b = pair_value(c->type, src[s], &wb, &ib);
        bool less = b < a || wb < wa, more = b > a || wb > wa;
        bool same = a == b && wa == wb;
        if ((c->op == HPCBOOT_MINLOC ? less : more) || (same && ib < ia)) {
            best = s;
        }
    }
    memcpy(dst, src[best], hb_coll_type_size(c->type));
}

void coll_ref_fold(const struct coll_case *c, const char *const *src, int n,
                   char *dst)
{
    switch (c->type) {
    case HPCBOOT_FLOAT16:
    case HPCBOOT_BFLOAT16:
        fold_half(c, src, n, dst);
        return;
    case HPCBOOT_FLOAT:
        fold_floats(c, src, n, dst, 1, false);
        return;
    case HPCBOOT_DOUBLE:
        fold_floats(c, src, n, dst, 1, true);
        return;
    case HPCBOOT_FLOAT_COMPLEX:
        fold_floats(c, src, n, dst, 2, false);
        return;
    case HPCBOOT_DOUBLE_COMPLEX:
        fold_floats(c, src, n, dst, 2, true);
        return;
    case HPCBOOT_FLOAT_INT:
    case HPCBOOT_DOUBLE_INT:
    case HPCBOOT_INT32_INT:
    case HPCBOOT_INT64_INT:
        fold_pairs(c, src, n, dst);
        return;
    default:
        fold_ints(c, src, n, dst);
    }
}
