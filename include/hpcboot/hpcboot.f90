! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the hpcboot authors
!
! libhpcboot for Fortran 2008: the functions of hpcboot/*.h under their own
! names, with the same arguments. Compile this file with the compiler of the
! program that uses it: files of modules differ from one to the next.
!
! A buffer is c_loc of a variable with the attribute target; a team, a request
! and a NULL are type(c_ptr) (c_null_ptr); a text ends with c_null_char. Ranks
! count from 0, and counts are integer(c_size_t), as in C. hpcboot_error_text
! makes a Fortran string of what went wrong, hpcboot_string one of a text that a
! function returns: hpcboot_string(hpcboot_host_of(0)).
module hpcboot
    use, intrinsic :: iso_c_binding
    implicit none
    public

    integer, parameter :: hpcboot_error_text_max = 512
    integer(c_int), parameter :: hpcboot_any_source = -1
    integer(c_int), parameter :: hpcboot_any_tag = -1
    integer(c_int), parameter :: hpcboot_tag_max = int(z'3fffffff', c_int)
    integer, parameter :: hpcboot_key_max = 255
    integer, parameter :: hpcboot_value_max = 1048576
    integer(c_int), parameter :: hpcboot_scope_job = 0
    integer(c_int), parameter :: hpcboot_scope_node = 1
    integer(c_int), parameter :: hpcboot_collect = 1
    integer(c_int), parameter :: hpcboot_commutative = 1
    integer(c_int), parameter :: hpcboot_deterministic = 1
    integer(c_int), parameter :: hpcboot_threads_single = 0
    integer(c_int), parameter :: hpcboot_threads_multiple = 1
    integer(c_int), parameter :: hpcboot_team_timeout_ms = 0
    integer(c_int), parameter :: hpcboot_team_deterministic = 1
    integer(c_int), parameter :: hpcboot_event_peer_dead = 1
    integer(c_int), parameter :: hpcboot_event_rank_comes = 2
    integer(c_int), parameter :: hpcboot_event_rank_leaves = 3

    ! What a call returns.
    integer(c_int), parameter :: hpcboot_ok = 0
    integer(c_int), parameter :: hpcboot_err_usage = -1
    integer(c_int), parameter :: hpcboot_err_parse = -2
    integer(c_int), parameter :: hpcboot_err_limit = -3
    integer(c_int), parameter :: hpcboot_err_unsupported = -4
    integer(c_int), parameter :: hpcboot_err_not_found = -5
    integer(c_int), parameter :: hpcboot_err_spawn = -6
    integer(c_int), parameter :: hpcboot_err_peer_dead = -7
    integer(c_int), parameter :: hpcboot_err_again = -8
    integer(c_int), parameter :: hpcboot_err_closed = -9
    integer(c_int), parameter :: hpcboot_err_host = -10
    integer(c_int), parameter :: hpcboot_err_auth = -11
    integer(c_int), parameter :: hpcboot_err_protocol = -12
    integer(c_int), parameter :: hpcboot_err_timed_out = -13
    integer(c_int), parameter :: hpcboot_err_system = -14
    integer(c_int), parameter :: hpcboot_err_nomem = -15
    integer(c_int), parameter :: hpcboot_err_internal = -16

    ! Types.
    integer(c_int), parameter :: hpcboot_int8 = 0
    integer(c_int), parameter :: hpcboot_int16 = 1
    integer(c_int), parameter :: hpcboot_int32 = 2
    integer(c_int), parameter :: hpcboot_int64 = 3
    integer(c_int), parameter :: hpcboot_uint8 = 4
    integer(c_int), parameter :: hpcboot_uint16 = 5
    integer(c_int), parameter :: hpcboot_uint32 = 6
    integer(c_int), parameter :: hpcboot_uint64 = 7
    integer(c_int), parameter :: hpcboot_float16 = 8
    integer(c_int), parameter :: hpcboot_bfloat16 = 9
    integer(c_int), parameter :: hpcboot_float = 10
    integer(c_int), parameter :: hpcboot_double = 11
    integer(c_int), parameter :: hpcboot_float_complex = 12
    integer(c_int), parameter :: hpcboot_double_complex = 13
    integer(c_int), parameter :: hpcboot_float_int = 14
    integer(c_int), parameter :: hpcboot_double_int = 15
    integer(c_int), parameter :: hpcboot_int32_int = 16
    integer(c_int), parameter :: hpcboot_int64_int = 17
    integer(c_int), parameter :: hpcboot_byte = 18

    ! Ops.
    integer(c_int), parameter :: hpcboot_sum = 0
    integer(c_int), parameter :: hpcboot_prod = 1
    integer(c_int), parameter :: hpcboot_min = 2
    integer(c_int), parameter :: hpcboot_max = 3
    integer(c_int), parameter :: hpcboot_band = 4
    integer(c_int), parameter :: hpcboot_bor = 5
    integer(c_int), parameter :: hpcboot_bxor = 6
    integer(c_int), parameter :: hpcboot_land = 7
    integer(c_int), parameter :: hpcboot_lor = 8
    integer(c_int), parameter :: hpcboot_lxor = 9
    integer(c_int), parameter :: hpcboot_minloc = 10
    integer(c_int), parameter :: hpcboot_maxloc = 11
    integer(c_int), parameter :: hpcboot_avg = 12
    integer(c_int), parameter :: hpcboot_op_user = 1024

    ! Collectives of the general form.
    integer(c_int), parameter :: hpcboot_coll_barrier = 0
    integer(c_int), parameter :: hpcboot_coll_bcast = 1
    integer(c_int), parameter :: hpcboot_coll_scatter = 2
    integer(c_int), parameter :: hpcboot_coll_scatterv = 3
    integer(c_int), parameter :: hpcboot_coll_gather = 4
    integer(c_int), parameter :: hpcboot_coll_gatherv = 5
    integer(c_int), parameter :: hpcboot_coll_allgather = 6
    integer(c_int), parameter :: hpcboot_coll_allgatherv = 7
    integer(c_int), parameter :: hpcboot_coll_reduce = 8
    integer(c_int), parameter :: hpcboot_coll_allreduce = 9
    integer(c_int), parameter :: hpcboot_coll_reduce_scatter = 10
    integer(c_int), parameter :: hpcboot_coll_reduce_scatter_block = 11
    integer(c_int), parameter :: hpcboot_coll_alltoall = 12
    integer(c_int), parameter :: hpcboot_coll_alltoallv = 13
    integer(c_int), parameter :: hpcboot_coll_scan = 14
    integer(c_int), parameter :: hpcboot_coll_exscan = 15

    type, bind(c) :: hpcboot_error
        integer(c_int) :: code = 0
        integer(c_int) :: sys_errno = 0
        character(kind=c_char) :: text(hpcboot_error_text_max) = c_null_char
    end type

    ! The sizes of these begin them: x%struct_size = c_sizeof(x).
    type, bind(c) :: hpcboot_init_options
        integer(c_size_t) :: struct_size = 0
        integer(c_int) :: threads = 0
        integer(c_int) :: timeout_ms = 0
    end type
    type, bind(c) :: hpcboot_bootstrap
        integer(c_size_t) :: struct_size = 0
        integer(c_int) :: rank = 0
        integer(c_int) :: size = 0
        type(c_ptr) :: name = c_null_ptr
        type(c_funptr) :: allgather = c_null_funptr
        type(c_ptr) :: arg = c_null_ptr
    end type
    type, bind(c) :: hpcboot_event
        integer(c_size_t) :: struct_size = 0
        integer(c_int) :: kind = 0
        integer(c_int) :: rank = 0
        integer(c_int) :: epoch = 0
        character(kind=c_char) :: text(hpcboot_error_text_max) = c_null_char
    end type
    type, bind(c) :: hpcboot_coll_args
        integer(c_size_t) :: struct_size = 0
        integer(c_int) :: coll = 0
        integer(c_int) :: dtype = 0
        integer(c_int) :: op = 0
        integer(c_int) :: root = 0
        type(c_ptr) :: send = c_null_ptr
        type(c_ptr) :: recv = c_null_ptr
        integer(c_size_t) :: count = 0
        type(c_ptr) :: send_counts = c_null_ptr
        type(c_ptr) :: send_displs = c_null_ptr
        type(c_ptr) :: recv_counts = c_null_ptr
        type(c_ptr) :: recv_displs = c_null_ptr
        integer(c_int) :: flags = 0
        integer(c_int) :: timeout_ms = 0
    end type
    type, bind(c) :: hpcboot_transport
        integer(c_size_t) :: struct_size = 0
        character(kind=c_char) :: name(16) = c_null_char
        character(kind=c_char) :: detail(240) = c_null_char
    end type
    type, bind(c) :: hpcboot_message
        integer(c_int) :: source = 0
        integer(c_int) :: tag = 0
        integer(c_size_t) :: size = 0
    end type

    interface
        integer(c_int) function hpcboot_init(options, err) bind(c)
            import
            type(c_ptr), value :: options
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_init_with(bootstrap, options, &
            err) bind(c)
            import
            type(hpcboot_bootstrap), intent(in) :: bootstrap
            type(c_ptr), value :: options
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_finalize(err) bind(c)
            import
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_is_initialized() bind(c)
            import
        end function
        integer(c_int) function hpcboot_rank() bind(c)
            import
        end function
        integer(c_int) function hpcboot_size() bind(c)
            import
        end function
        integer(c_int) function hpcboot_local_rank() bind(c)
            import
        end function
        integer(c_int) function hpcboot_local_size() bind(c)
            import
        end function
        integer(c_int) function hpcboot_node() bind(c)
            import
        end function
        integer(c_int) function hpcboot_nodes() bind(c)
            import
        end function
        integer(c_int) function hpcboot_node_of(rank) bind(c)
            import
            integer(c_int), value :: rank
        end function
        integer(c_int) function hpcboot_local_rank_of(rank) bind(c)
            import
            integer(c_int), value :: rank
        end function
        type(c_ptr) function hpcboot_host_of(rank) bind(c)
            import
            integer(c_int), value :: rank
        end function
        type(c_ptr) function hpcboot_launcher() bind(c)
            import
        end function
        type(c_ptr) function hpcboot_version() bind(c)
            import
        end function
        type(c_ptr) function hpcboot_status_text(code) bind(c)
            import
            integer(c_int), value :: code
        end function
        type(c_ptr) function hpcboot_type_name(dtype) bind(c)
            import
            integer(c_int), value :: dtype
        end function
        type(c_ptr) function hpcboot_op_name(op) bind(c)
            import
            integer(c_int), value :: op
        end function
        type(c_ptr) function hpcboot_coll_name(coll) bind(c)
            import
            integer(c_int), value :: coll
        end function
        integer(c_int) function hpcboot_epoch() bind(c)
            import
        end function
        integer(c_int) function hpcboot_put(scope, key, value, size, &
            err) bind(c)
            import
            integer(c_int), value :: scope
            character(kind=c_char), intent(in) :: key(*)
            type(c_ptr), value :: value
            integer(c_size_t), value :: size
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_get(rank, key, value_out, size_out, &
            err) bind(c)
            import
            integer(c_int), value :: rank
            character(kind=c_char), intent(in) :: key(*)
            type(c_ptr), intent(out) :: value_out
            integer(c_size_t), intent(out) :: size_out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_fence(scope, flags, timeout_ms, &
            err) bind(c)
            import
            integer(c_int), value :: scope
            integer(c_int), value :: flags
            integer(c_int), value :: timeout_ms
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_binding(cpus, size, err) bind(c)
            import
            character(kind=c_char), intent(out) :: cpus(*)
            integer(c_size_t), value :: size
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_allowed(cpus, size, quota_out, &
            err) bind(c)
            import
            character(kind=c_char), intent(out) :: cpus(*)
            integer(c_size_t), value :: size
            real(c_double), intent(out) :: quota_out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_nearest_nics(names, size, &
            err) bind(c)
            import
            character(kind=c_char), intent(out) :: names(*)
            integer(c_size_t), value :: size
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_bind(what, err) bind(c)
            import
            character(kind=c_char), intent(in) :: what(*)
            type(hpcboot_error), intent(inout) :: err
        end function
        type(c_ptr) function hpcboot_world() bind(c)
            import
        end function
        type(c_ptr) function hpcboot_node_team() bind(c)
            import
        end function
        integer(c_int) function hpcboot_team_split(parent, color, key, out, &
            err) bind(c)
            import
            type(c_ptr), value :: parent
            integer(c_int), value :: color
            integer(c_int), value :: key
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_team_create(parent, ranks, n_ranks, &
            out, err) bind(c)
            import
            type(c_ptr), value :: parent
            integer(c_int), intent(in) :: ranks(*)
            integer(c_int), value :: n_ranks
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_team_shrink(team, out, err) bind(c)
            import
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_team_destroy(team, err) bind(c)
            import
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_team_rank(team) bind(c)
            import
            type(c_ptr), value :: team
        end function
        integer(c_int) function hpcboot_team_size(team) bind(c)
            import
            type(c_ptr), value :: team
        end function
        integer(c_int) function hpcboot_team_world_rank(team, rank) bind(c)
            import
            type(c_ptr), value :: team
            integer(c_int), value :: rank
        end function
        integer(c_int) function hpcboot_team_set(team, setting, value, &
            err) bind(c)
            import
            type(c_ptr), value :: team
            integer(c_int), value :: setting
            integer(c_int), value :: value
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_start(request, err) bind(c)
            import
            type(c_ptr), value :: request
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_test(request, done_out, err) bind(c)
            import
            type(c_ptr), intent(inout) :: request
            integer(c_int), intent(out) :: done_out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_wait(request, timeout_ms, &
            err) bind(c)
            import
            type(c_ptr), intent(inout) :: request
            integer(c_int), value :: timeout_ms
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_wait_any(requests, n, timeout_ms, &
            index_out, err) bind(c)
            import
            type(c_ptr), intent(inout) :: requests(*)
            integer(c_size_t), value :: n
            integer(c_int), value :: timeout_ms
            integer(c_size_t), intent(out) :: index_out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_wait_all(requests, n, timeout_ms, &
            err) bind(c)
            import
            type(c_ptr), intent(inout) :: requests(*)
            integer(c_size_t), value :: n
            integer(c_int), value :: timeout_ms
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_request_free(request, err) bind(c)
            import
            type(c_ptr), intent(inout) :: request
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_progress(err) bind(c)
            import
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_send(team, dest, tag, buf, size, &
            err) bind(c)
            import
            type(c_ptr), value :: team
            integer(c_int), value :: dest
            integer(c_int), value :: tag
            type(c_ptr), value :: buf
            integer(c_size_t), value :: size
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_recv(team, source, tag, buf, &
            capacity, message, err) bind(c)
            import
            type(c_ptr), value :: team
            integer(c_int), value :: source
            integer(c_int), value :: tag
            type(c_ptr), value :: buf
            integer(c_size_t), value :: capacity
            type(c_ptr), value :: message
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_isend(team, dest, tag, buf, size, &
            out, err) bind(c)
            import
            type(c_ptr), value :: team
            integer(c_int), value :: dest
            integer(c_int), value :: tag
            type(c_ptr), value :: buf
            integer(c_size_t), value :: size
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_irecv(team, source, tag, buf, &
            capacity, message, out, err) bind(c)
            import
            type(c_ptr), value :: team
            integer(c_int), value :: source
            integer(c_int), value :: tag
            type(c_ptr), value :: buf
            integer(c_size_t), value :: capacity
            type(c_ptr), value :: message
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_alloc(size, out, err) bind(c)
            import
            integer(c_size_t), value :: size
            type(c_ptr), intent(out) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        subroutine hpcboot_free(memory) bind(c)
            import
            type(c_ptr), value :: memory
        end subroutine
        integer(c_int) function hpcboot_transport_of(rank, out, err) bind(c)
            import
            integer(c_int), value :: rank
            type(hpcboot_transport), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_next_event(event, timeout_ms, &
            err) bind(c)
            import
            type(hpcboot_event), intent(inout) :: event
            integer(c_int), value :: timeout_ms
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_size_t) function hpcboot_type_size(dtype) bind(c)
            import
            integer(c_int), value :: dtype
        end function
        integer(c_int) function hpcboot_op_create(fn, arg, flags, &
            element_bytes, err) bind(c)
            import
            type(c_funptr), value :: fn
            type(c_ptr), value :: arg
            integer(c_int), value :: flags
            integer(c_size_t), value :: element_bytes
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_op_destroy(op, err) bind(c)
            import
            integer(c_int), value :: op
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_coll(team, args, err) bind(c)
            import
            type(c_ptr), value :: team
            type(hpcboot_coll_args), intent(in) :: args
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_coll_start(team, args, out, &
            err) bind(c)
            import
            type(c_ptr), value :: team
            type(hpcboot_coll_args), intent(in) :: args
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_coll_init(team, args, out, &
            err) bind(c)
            import
            type(c_ptr), value :: team
            type(hpcboot_coll_args), intent(in) :: args
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_barrier(team, err) bind(c)
            import
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_bcast(buffer, count, dtype, root, &
            team, err) bind(c)
            import
            type(c_ptr), value :: buffer
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_scatter(send, recv, count, dtype, &
            root, team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_scatterv(send, send_counts, &
            send_displs, recv, count, dtype, root, team, err) bind(c)
            import
            type(c_ptr), value :: send
            integer(c_size_t), intent(in) :: send_counts(*)
            type(c_ptr), value :: send_displs
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_gather(send, recv, count, dtype, &
            root, team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_gatherv(send, count, recv, &
            recv_counts, recv_displs, dtype, root, team, err) bind(c)
            import
            type(c_ptr), value :: send
            integer(c_size_t), value :: count
            type(c_ptr), value :: recv
            integer(c_size_t), intent(in) :: recv_counts(*)
            type(c_ptr), value :: recv_displs
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_allgather(send, recv, count, dtype, &
            team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_allgatherv(send, count, recv, &
            recv_counts, recv_displs, dtype, team, err) bind(c)
            import
            type(c_ptr), value :: send
            integer(c_size_t), value :: count
            type(c_ptr), value :: recv
            integer(c_size_t), intent(in) :: recv_counts(*)
            type(c_ptr), value :: recv_displs
            integer(c_int), value :: dtype
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_reduce(send, recv, count, dtype, op, &
            root, team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_allreduce(send, recv, count, dtype, &
            op, team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_reduce_scatter(send, recv, &
            recv_counts, dtype, op, team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), intent(in) :: recv_counts(*)
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_reduce_scatter_block(send, recv, &
            count, dtype, op, team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_alltoall(send, recv, count, dtype, &
            team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_alltoallv(send, send_counts, &
            send_displs, recv, recv_counts, recv_displs, dtype, team, &
            err) bind(c)
            import
            type(c_ptr), value :: send
            integer(c_size_t), intent(in) :: send_counts(*)
            type(c_ptr), value :: send_displs
            type(c_ptr), value :: recv
            integer(c_size_t), intent(in) :: recv_counts(*)
            type(c_ptr), value :: recv_displs
            integer(c_int), value :: dtype
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_scan(send, recv, count, dtype, op, &
            team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_exscan(send, recv, count, dtype, op, &
            team, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_ibarrier(team, out, err) bind(c)
            import
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_ibcast(buffer, count, dtype, root, &
            team, out, err) bind(c)
            import
            type(c_ptr), value :: buffer
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_iscatter(send, recv, count, dtype, &
            root, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_iscatterv(send, send_counts, &
            send_displs, recv, count, dtype, root, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            integer(c_size_t), intent(in) :: send_counts(*)
            type(c_ptr), value :: send_displs
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_igather(send, recv, count, dtype, &
            root, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_igatherv(send, count, recv, &
            recv_counts, recv_displs, dtype, root, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            integer(c_size_t), value :: count
            type(c_ptr), value :: recv
            integer(c_size_t), intent(in) :: recv_counts(*)
            type(c_ptr), value :: recv_displs
            integer(c_int), value :: dtype
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_iallgather(send, recv, count, dtype, &
            team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_iallgatherv(send, count, recv, &
            recv_counts, recv_displs, dtype, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            integer(c_size_t), value :: count
            type(c_ptr), value :: recv
            integer(c_size_t), intent(in) :: recv_counts(*)
            type(c_ptr), value :: recv_displs
            integer(c_int), value :: dtype
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_ireduce(send, recv, count, dtype, &
            op, root, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            integer(c_int), value :: root
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_iallreduce(send, recv, count, dtype, &
            op, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_ireduce_scatter(send, recv, &
            recv_counts, dtype, op, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), intent(in) :: recv_counts(*)
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_ireduce_scatter_block(send, recv, &
            count, dtype, op, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_ialltoall(send, recv, count, dtype, &
            team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_ialltoallv(send, send_counts, &
            send_displs, recv, recv_counts, recv_displs, dtype, team, out, &
            err) bind(c)
            import
            type(c_ptr), value :: send
            integer(c_size_t), intent(in) :: send_counts(*)
            type(c_ptr), value :: send_displs
            type(c_ptr), value :: recv
            integer(c_size_t), intent(in) :: recv_counts(*)
            type(c_ptr), value :: recv_displs
            integer(c_int), value :: dtype
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_iscan(send, recv, count, dtype, op, &
            team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
        integer(c_int) function hpcboot_iexscan(send, recv, count, dtype, &
            op, team, out, err) bind(c)
            import
            type(c_ptr), value :: send
            type(c_ptr), value :: recv
            integer(c_size_t), value :: count
            integer(c_int), value :: dtype
            integer(c_int), value :: op
            type(c_ptr), value :: team
            type(c_ptr), intent(inout) :: out
            type(hpcboot_error), intent(inout) :: err
        end function
    end interface

contains

    ! In the place of a buffer: the rank's own part is where the result goes.
    type(c_ptr) function hpcboot_in_place()
        hpcboot_in_place = transfer(1_c_intptr_t, c_null_ptr)
    end function

    function hpcboot_error_text(err) result(text)
        type(hpcboot_error), intent(in) :: err
        character(len=hpcboot_error_text_max) :: text
        integer :: i

        text = ' '
        do i = 1, hpcboot_error_text_max
            if (err%text(i) == c_null_char) exit
            text(i:i) = err%text(i)
        end do
    end function

    ! Of a text of C; the empty string for a NULL.
    function hpcboot_string(text) result(string)
        type(c_ptr), intent(in) :: text
        character(len=:), allocatable :: string
        character(kind=c_char), pointer :: c(:)
        integer :: n, i

        string = ''
        if (.not. c_associated(text)) return
        call c_f_pointer(text, c, [huge(n)])
        n = 0
        do while (c(n + 1) /= c_null_char)
            n = n + 1
        end do
        string = repeat(' ', n)
        do i = 1, n
            string(i:i) = c(i)
        end do
    end function
end module
