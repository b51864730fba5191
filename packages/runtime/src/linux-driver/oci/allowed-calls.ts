/**
 * System calls that programs in a sandbox may make, with any arguments. By theme, so that a reader can judge each
 * group. A call that is not here, not refused by name and not checked by its arguments does not exist for a sandbox:
 * that is also what becomes of calls that future kernels add.
 */
const BY_THEME = {
  files: `access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
    fadvise64 fadvise64_64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync
    flock fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat getcwd getdents getdents64
    lchown lchown32 link linkat llseek _llseek lseek lstat lstat64 mkdir mkdirat mknod mknodat newfstatat oldfstat
    oldlstat oldstat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readdir readlink
    readlinkat readv rename renameat renameat2 rmdir sendfile sendfile64 splice stat stat64 statfs statfs64 statx symlink
    symlinkat sync sync_file_range sync_file_range2 syncfs tee truncate truncate64 umask unlink unlinkat utime utimensat
    utimensat_time64 utimes vmsplice write writev`,
  attributes: `fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat lgetxattr listxattr listxattrat llistxattr
    lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat`,
  watching: `epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd
    eventfd2 inotify_add_watch inotify_init inotify_init1 inotify_rm_watch _newselect poll ppoll ppoll_time64 pselect6
    pselect6_time64 select signalfd signalfd4`,
  memory: `brk cachestat madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall mmap mmap2 mprotect
    mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect remap_file_pages`,
  processes: `execve execveat exit exit_group fork getpgid getpgrp getpid getppid getsid gettid pidfd_open
    pidfd_send_signal prctl arch_prctl process_mrelease ptrace rseq seccomp set_robust_list get_robust_list
    set_thread_area get_thread_area set_tid_address setpgid setsid vfork wait4 waitid waitpid modify_ldt alarm pause nice
    landlock_add_rule landlock_create_ruleset landlock_restrict_self`,
  identity: `capget capset chroot getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getresgid
    getresgid32 getresuid getresuid32 getuid getuid32 setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups
    setgroups32 setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setuid setuid32`,
  scheduling: `getcpu getpriority ioprio_get ioprio_set sched_get_priority_max sched_get_priority_min sched_getaffinity
    sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity
    sched_setattr sched_setparam sched_setscheduler sched_yield setpriority`,
  signals: `kill restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaction sigaltstack signal sigpending sigprocmask sigreturn
    sigsuspend tgkill tkill`,
  locks: `futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake`,
  time: `adjtimex clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64
    getitimer gettimeofday nanosleep setitimer time timer_create timer_delete timer_getoverrun timer_gettime
    timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime
    timerfd_settime64 times`,
  network: `accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmmsg_time64
    recvmsg send sendmmsg sendmsg sendto setsockopt shutdown`,
  messages: `ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64
    mq_unlink msgctl msgget msgrcv msgsnd pipe pipe2 semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt
    shmget`,
  'asynchronous input and output': `io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit`,
  system: `getrandom getrlimit getrusage prlimit64 setrlimit sysinfo ugetrlimit uname olduname oldolduname
    riscv_flush_icache riscv_hwprobe arm_fadvise64_64 arm_sync_file_range breakpoint cacheflush set_tls`,
};

/** Their names, as the kernel's headers have them. */
export const ALLOWED_CALLS: readonly string[] = Object.values(BY_THEME).flatMap((names) =>
  names.split(/\s+/),
);
