! SPDX-License-Identifier: BSD-3-Clause
! Copyright (c) 2026 the hpcboot authors
!
! Pi in Fortran: each rank integrates its part of a quarter of a circle, and
! the sum of all parts is everybody's.
!
!   gfortran hpcboot.f90 pi.f90 $(pkg-config --cflags --libs hpcboot) -o pi
!   hbrun -n 4 ./pi
!
! hpcboot.f90 is the module; it is installed beside the headers.
program pi
    use hpcboot
    implicit none
    integer, parameter :: strips = 1000000
    type(hpcboot_error) :: err
    real(c_double), target :: part, whole
    real(c_double) :: x
    integer :: i, rank, ranks

    call must(hpcboot_init(c_null_ptr, err))
    rank = hpcboot_rank()
    ranks = hpcboot_size()
    part = 0
    do i = rank, strips - 1, ranks
        x = (i + 0.5_c_double) / strips
        part = part + 4 * sqrt(1 - x * x) / strips
    end do
    call must(hpcboot_allreduce(c_loc(part), c_loc(whole), 1_c_size_t, &
        hpcboot_double, hpcboot_sum, hpcboot_world(), err))
    if (rank == 0) then
        print '(i0, a, f8.6)', ranks, ' ranks: pi is about ', whole
    end if
    call must(hpcboot_finalize(err))

contains

    subroutine must(rc)
        integer(c_int), intent(in) :: rc

        if (rc < 0) then
            print '(2a)', 'pi: ', trim(hpcboot_error_text(err))
            stop 1
        end if
    end subroutine
end program
