! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the hpcboot authors
!
! Each procedure of the Fortran module once, with an answer that a wrong order
! of arguments would spoil. For any number of ranks; each says that it is good.
! An op of the user's, which keeps the value of the higher rank.
module apifortran_op
    use hpcboot
    implicit none

contains

    subroutine keep(from, into, count, dtype, arg) bind(c)
        type(c_ptr), value :: from, into, arg
        integer(c_size_t), value :: count
        integer(c_int), value :: dtype
        integer(c_int32_t), pointer :: x(:), y(:)

        call c_f_pointer(from, x, [count])
        call c_f_pointer(into, y, [count])
        if (dtype /= hpcboot_int32 .or. c_associated(arg)) y = x
    end subroutine
end module

program apifortran
    use apifortran_op
    implicit none
    integer, parameter :: most = 64
    integer(c_size_t), parameter :: one = 1, two = 2
    type(hpcboot_error) :: err
    integer(c_int32_t), target :: a(2 * most), b(2 * most)
    integer(c_size_t), target :: ones(most), at(most)
    integer(c_int) :: me, n, i, total, before
    type(c_ptr) :: world, none

    none = c_null_ptr
    call begin()
    call places()
    call texts()
    call values()
    call teams()
    call messages()
    call blocking()
    call started()
    call general()
    call own_op()
    call is('finalize', hpcboot_finalize(err), 0)
    call is('is_initialized', hpcboot_is_initialized(), 0)
    print '(a, i0, a)', 'rank ', me, ': good'

contains

    subroutine is(what, got, wanted)
        character(len=*), intent(in) :: what
        integer(c_int), intent(in) :: got, wanted

        if (got /= wanted) then
            print '(3a, i0, a, i0, 2a)', 'apifortran: ', what, ': ', got, &
                ', not ', wanted, ': ', trim(hpcboot_error_text(err))
            stop 1
        end if
    end subroutine

    subroutine begin()
        type(hpcboot_init_options), target :: options

        call is('rank, before', hpcboot_rank(), hpcboot_err_usage)
        options%struct_size = c_sizeof(options)
        options%threads = hpcboot_threads_single
        options%timeout_ms = 60000
        call is('init', hpcboot_init(c_loc(options), err), 0)
        call is('is_initialized', hpcboot_is_initialized(), 1)
        me = hpcboot_rank()
        n = hpcboot_size()
        world = hpcboot_world()
        total = n * (n - 1) / 2
        before = me * (me - 1) / 2
        ones = 1
        at = [(int(i, c_size_t), i = 0, most - 1)]
    end subroutine

    ! On one host, as the test starts it.
    subroutine places()
        character(kind=c_char) :: text(4096)
        integer(c_size_t), parameter :: size = 4096
        type(hpcboot_transport) :: way
        real(c_double) :: quota
        integer(c_int) :: cpus

        call is('local_rank', hpcboot_local_rank(), me)
        call is('local_size', hpcboot_local_size(), n)
        call is('node', hpcboot_node(), 0)
        call is('nodes', hpcboot_nodes(), 1)
        call is('node_of', hpcboot_node_of(n - 1), 0)
        call is('node_of nobody', hpcboot_node_of(n), hpcboot_err_usage)
        call is('local_rank_of', hpcboot_local_rank_of(n - 1), n - 1)
        call is('epoch', hpcboot_epoch(), 0)
        cpus = hpcboot_allowed(text, size, quota, err)
        call is('allowed', min(cpus, 1), 1)
        call is('quota', merge(1, 0, quota >= 0), 1)
        call is('bind', hpcboot_bind('none' // c_null_char, err), cpus)
        call is('binding', hpcboot_binding(text, size, err), cpus)
        call is('binding, no room', hpcboot_binding(text, one, err), &
            hpcboot_err_limit)
        call is('nearest_nics', &
            merge(0, 1, hpcboot_nearest_nics(text, size, err) >= 0), 0)
        way%struct_size = c_sizeof(way)
        call is('transport_of', hpcboot_transport_of(me, way, err), 0)
        call is('its name', merge(0, 1, all(way%name(:4) == &
            ['s', 'e', 'l', 'f'])), 0)
    end subroutine

    subroutine texts()
        character(len=:), allocatable :: host

        host = hpcboot_string(hpcboot_host_of(me))
        call is('host_of', len(host), len_trim(host))
        call is('no host', len(hpcboot_string(hpcboot_host_of(n))), 0)
        call same(hpcboot_string(hpcboot_launcher()), 'hbrun')
        call same(hpcboot_string(hpcboot_type_name(hpcboot_int32)), 'int32')
        call same(hpcboot_string(hpcboot_op_name(hpcboot_minloc)), 'minloc')
        call same(hpcboot_string(hpcboot_coll_name(hpcboot_coll_scan)), &
            'scan')
        call is('version', scan(hpcboot_string(hpcboot_version()), '.'), 2)
        call is('status_text', merge(1, 0, &
            len(hpcboot_string(hpcboot_status_text(hpcboot_err_usage))) > 0), &
            1)
        if (len(host) == 0) call is('host_of', 0, 1)
    end subroutine

    subroutine same(got, wanted)
        character(len=*), intent(in) :: got, wanted

        if (got /= wanted) then
            print '(4a)', 'apifortran: ', got, ' is not ', wanted
            stop 1
        end if
    end subroutine

    subroutine values()
        character(len=4), target :: mine
        character(kind=c_char), pointer :: theirs(:)
        type(hpcboot_event) :: event
        type(c_ptr) :: value
        integer(c_size_t) :: size
        character(len=4) :: wanted

        write (mine, '(i4.4)') me
        write (wanted, '(i4.4)') n - 1
        call is('put', hpcboot_put(hpcboot_scope_job, 'key' // c_null_char, &
            c_loc(mine), 4_c_size_t, err), 0)
        call is('fence', hpcboot_fence(hpcboot_scope_job, hpcboot_collect, &
            60000, err), 0)
        call is('get', hpcboot_get(n - 1, 'key' // c_null_char, value, size, &
            err), 0)
        call is('its size', int(size, c_int), 4)
        call c_f_pointer(value, theirs, [4])
        do i = 1, 4
            call is('its bytes', iachar(theirs(i)), iachar(wanted(i:i)))
        end do
        call free(value)
        event%struct_size = c_sizeof(event)
        call is('next_event', hpcboot_next_event(event, 0, err), 0)
    end subroutine

    subroutine free(memory)
        type(c_ptr), intent(in) :: memory
        interface
            subroutine c_free(memory) bind(c, name='free')
                import
                type(c_ptr), value :: memory
            end subroutine
        end interface

        call c_free(memory)
    end subroutine

    subroutine teams()
        type(c_ptr) :: team
        integer(c_int) :: backwards(most)

        team = none
        backwards(:n) = [(n - i, i = 1, n)]
        call is('node_team', hpcboot_team_size(hpcboot_node_team()), n)
        call is('team_split', hpcboot_team_split(world, 0, -me, team, err), 0)
        call is('team_rank', hpcboot_team_rank(team), n - 1 - me)
        call is('team_world_rank', hpcboot_team_world_rank(team, 0), n - 1)
        call is('team_set', hpcboot_team_set(team, hpcboot_team_timeout_ms, &
            60000, err), 0)
        call is('team_destroy', hpcboot_team_destroy(team, err), 0)
        call is('team_create', hpcboot_team_create(world, backwards, n, team, &
            err), 0)
        call is('team_rank', hpcboot_team_rank(team), n - 1 - me)
        call is('team_destroy', hpcboot_team_destroy(team, err), 0)
        call is('team_shrink', hpcboot_team_shrink(world, team, err), 0)
        call is('team_size', hpcboot_team_size(team), n)
        call is('team_destroy', hpcboot_team_destroy(team, err), 0)
    end subroutine

    subroutine messages()
        type(c_ptr) :: requests(2)
        type(hpcboot_message), target :: message
        integer(c_size_t) :: which
        integer(c_int) :: next, last

        next = mod(me + 1, n)
        last = mod(me + n - 1, n)
        a(1:2) = [me, -me]
        requests = none
        call is('isend', hpcboot_isend(world, next, 7, c_loc(a), &
            8_c_size_t, requests(1), err), 0)
        call is('recv', hpcboot_recv(world, hpcboot_any_source, 7, c_loc(b), &
            8_c_size_t, c_loc(message), err), 0)
        call is('wait', hpcboot_wait(requests(1), 0, err), 0)
        call is('source', message%source, last)
        call is('tag', message%tag, 7)
        call is('size', int(message%size, c_int), 8)
        call is('data', b(2), -last)
        call is('irecv', hpcboot_irecv(world, last, 8, c_loc(b), 4_c_size_t, &
            none, requests(2), err), 0)
        call is('send', hpcboot_send(world, next, 8, c_loc(a), 4_c_size_t, &
            err), 0)
        call is('wait_any', hpcboot_wait_any(requests, two, 0, which, err), 0)
        call is('which', int(which, c_int), 1)
        call is('data', b(1), last)
    end subroutine

    subroutine fill()
        integer(c_int) :: k

        a = [(me * 1000 + k, k = 0, 2 * most - 1)]
        b = -1
    end subroutine

    ! What a(i) of rank r holds.
    integer(c_int) function of(r, i)
        integer(c_int), intent(in) :: r, i

        of = r * 1000 + i - 1
    end function

    integer(c_int) function sum_of(i)
        integer(c_int), intent(in) :: i

        sum_of = total * 1000 + n * (i - 1)
    end function

    subroutine at_root(what, got, wanted)
        character(len=*), intent(in) :: what
        integer(c_int), intent(in) :: got, wanted

        call is(what, got, merge(wanted, -1, me == n - 1))
    end subroutine

    ! The results of one round of all collectives, in this order.
    subroutine look(what)
        character(len=*), intent(in) :: what

        select case (what)
        case ('bcast')
            call is(what, a(2), of(n - 1, 2))
        case ('scatter', 'scatterv')
            call is(what, b(1), of(n - 1, me + 1))
        case ('gather', 'gatherv')
            call at_root(what, b(n), of(n - 1, 1))
            call at_root(what, b(1), of(0, 1))
        case ('allgather', 'allgatherv')
            call is(what, b(n), of(n - 1, 1))
        case ('reduce')
            call at_root(what, b(2), sum_of(2))
        case ('allreduce')
            call is(what, b(2), sum_of(2))
        case ('reduce_scatter', 'reduce_scatter_block')
            call is(what, b(1), sum_of(me + 1))
        case ('alltoall', 'alltoallv')
            call is(what, b(1), of(0, me + 1))
            call is(what, b(n), of(n - 1, me + 1))
        case ('scan')
            call is(what, b(1), (before + me) * 1000)
        case ('exscan')
            call is(what, b(1), merge(-1, before * 1000, me == 0))
        end select
    end subroutine

    subroutine done(what, rc)
        character(len=*), intent(in) :: what
        integer(c_int), intent(in) :: rc

        call is(what, rc, 0)
        call look(what)
        call fill()
    end subroutine

    subroutine blocking()
        type(c_ptr) :: s, r, d
        integer(c_int) :: t, o, root

        t = hpcboot_int32
        o = hpcboot_sum
        root = n - 1
        s = c_loc(a)
        r = c_loc(b)
        d = c_loc(at)
        call fill()
        call done('barrier', hpcboot_barrier(world, err))
        call done('bcast', hpcboot_bcast(s, two, t, root, world, err))
        call done('scatter', hpcboot_scatter(s, r, one, t, root, world, err))
        call done('scatterv', hpcboot_scatterv(s, ones, d, r, one, t, root, &
            world, err))
        call done('gather', hpcboot_gather(s, r, one, t, root, world, err))
        call done('gatherv', hpcboot_gatherv(s, one, r, ones, d, t, root, &
            world, err))
        call done('allgather', hpcboot_allgather(s, r, one, t, world, err))
        call done('allgatherv', hpcboot_allgatherv(s, one, r, ones, d, t, &
            world, err))
        call done('reduce', hpcboot_reduce(s, r, two, t, o, root, world, err))
        call done('allreduce', hpcboot_allreduce(s, r, two, t, o, world, err))
        call done('reduce_scatter', hpcboot_reduce_scatter(s, r, ones, t, o, &
            world, err))
        call done('reduce_scatter_block', hpcboot_reduce_scatter_block(s, r, &
            one, t, o, world, err))
        call done('alltoall', hpcboot_alltoall(s, r, one, t, world, err))
        call done('alltoallv', hpcboot_alltoallv(s, ones, d, r, ones, none, &
            t, world, err))
        call done('scan', hpcboot_scan(s, r, one, t, o, world, err))
        call done('exscan', hpcboot_exscan(s, r, one, t, o, world, err))
    end subroutine

    subroutine finished(what, rc, request)
        character(len=*), intent(in) :: what
        integer(c_int), intent(in) :: rc
        type(c_ptr), intent(inout) :: request
        integer(c_int) :: is_done

        call is('i' // what, rc, 0)
        is_done = 0
        do while (is_done == 0)
            call is('test', hpcboot_test(request, is_done, err), 0)
            call is('progress', hpcboot_progress(err), 0)
        end do
        call done(what, merge(1, 0, c_associated(request)))
    end subroutine

    subroutine started()
        type(c_ptr) :: s, r, d, q
        integer(c_int) :: t, o, root

        t = hpcboot_int32
        o = hpcboot_sum
        root = n - 1
        s = c_loc(a)
        r = c_loc(b)
        d = c_loc(at)
        q = none
        call finished('barrier', hpcboot_ibarrier(world, q, err), q)
        call finished('bcast', hpcboot_ibcast(s, two, t, root, world, q, &
            err), q)
        call finished('scatter', hpcboot_iscatter(s, r, one, t, root, world, &
            q, err), q)
        call finished('scatterv', hpcboot_iscatterv(s, ones, d, r, one, t, &
            root, world, q, err), q)
        call finished('gather', hpcboot_igather(s, r, one, t, root, world, q, &
            err), q)
        call finished('gatherv', hpcboot_igatherv(s, one, r, ones, d, t, &
            root, world, q, err), q)
        call finished('allgather', hpcboot_iallgather(s, r, one, t, world, q, &
            err), q)
        call finished('allgatherv', hpcboot_iallgatherv(s, one, r, ones, d, &
            t, world, q, err), q)
        call finished('reduce', hpcboot_ireduce(s, r, two, t, o, root, world, &
            q, err), q)
        call finished('allreduce', hpcboot_iallreduce(s, r, two, t, o, world, &
            q, err), q)
        call finished('reduce_scatter', hpcboot_ireduce_scatter(s, r, ones, &
            t, o, world, q, err), q)
        call finished('reduce_scatter_block', &
            hpcboot_ireduce_scatter_block(s, r, one, t, o, world, q, err), q)
        call finished('alltoall', hpcboot_ialltoall(s, r, one, t, world, q, &
            err), q)
        call finished('alltoallv', hpcboot_ialltoallv(s, ones, d, r, ones, &
            none, t, world, q, err), q)
        call finished('scan', hpcboot_iscan(s, r, one, t, o, world, q, err), q)
        call finished('exscan', hpcboot_iexscan(s, r, one, t, o, world, q, &
            err), q)
    end subroutine

    ! In place, and in memory of the node.
    subroutine general()
        type(hpcboot_coll_args) :: args
        type(c_ptr) :: memory, requests(2)
        integer(c_int32_t), pointer :: v(:)
        integer(c_int) :: k

        call is('alloc', hpcboot_alloc(8_c_size_t, memory, err), 0)
        call c_f_pointer(memory, v, [2])
        args%struct_size = c_sizeof(args)
        args%coll = hpcboot_coll_allreduce
        args%dtype = hpcboot_int32
        args%op = hpcboot_max
        args%send = hpcboot_in_place()
        args%recv = memory
        args%count = 2
        args%flags = hpcboot_deterministic
        args%timeout_ms = 60000
        v = [me, -me]
        call is('coll', hpcboot_coll(world, args, err), 0)
        call is('its result', v(1), n - 1)
        call is('its result', v(2), 0)
        requests = none
        v = [me, -me]
        call is('coll_start', hpcboot_coll_start(world, args, requests(1), &
            err), 0)
        call is('wait_all', hpcboot_wait_all(requests, two, 0, err), 0)
        call is('its result', v(1), n - 1)
        call is('coll_init', hpcboot_coll_init(world, args, requests(2), &
            err), 0)
        do k = 1, 2
            v = [me + k, -me]
            call is('start', hpcboot_start(requests(2), err), 0)
            call is('wait', hpcboot_wait(requests(2), 60000, err), 0)
            call is('its result', v(1), n - 1 + k)
        end do
        call is('request_free', hpcboot_request_free(requests(2), err), 0)
        call hpcboot_free(memory)
    end subroutine

    subroutine own_op()
        integer(c_int) :: op

        op = hpcboot_op_create(c_funloc(keep), c_null_ptr, 0, 0_c_size_t, err)
        call is('op_create', merge(0, op, op >= hpcboot_op_user), 0)
        call fill()
        call is('allreduce', hpcboot_allreduce(c_loc(a), c_loc(b), two, &
            hpcboot_int32, op, world, err), 0)
        call is('its result', b(2), of(n - 1, 2))
        call is('op_destroy', hpcboot_op_destroy(op, err), 0)
        call is('type_size', int(hpcboot_type_size(hpcboot_double_complex), &
            c_int), 16)
    end subroutine
end program
