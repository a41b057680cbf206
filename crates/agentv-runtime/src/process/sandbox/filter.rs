//! Which system calls a program in a sandbox may not make. They fail with "operation not permitted", so that the
//! program's own error says what happened.

use agentv_wire::NetworkAccess;
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;

/// Calls that are refused whatever their arguments.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Mounts and namespaces: what Landlock knows by its path must stay where it is.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    // Ways around path rules and around this filter.
    libc::SYS_open_by_handle_at,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Keys of the user.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
];

/// Flags of `clone` that make a namespace.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The type of a socket, without the flags beside it.
const TYPE_MASK: u64 = 0xf;
/// Types that are neither streams nor datagrams. The last is `SOCK_PACKET`, which only the kernel still knows.
const OTHER_TYPES: [i32; 5] =
    [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP, 10];
/// From here on, x86-64 takes the number of a call for one of the x32 interface, under which a filter would not know it.
const X32_BIT: u32 = 0x4000_0000;

type Filtered<T> = Result<T, seccompiler::BackendError>;
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Whether there is a filter for this processor.
pub(super) fn is_supported() -> bool {
    arch().is_ok()
}

fn arch() -> Filtered<TargetArch> {
    std::env::consts::ARCH.try_into()
}

/// The filters, to be applied one after the other.
pub(super) fn programs(network: &NetworkAccess) -> Filtered<Vec<BpfProgram>> {
    let not_permitted = compile(refused(network)?, libc::EPERM)?;
    // Its flags are in memory, where no filter can look. Without it, the C library uses `clone`.
    let no_such_call = compile(Rules::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    Ok(vec![without_x32(), no_such_call, not_permitted])
}

fn compile(rules: Rules, errno: i32) -> Filtered<BpfProgram> {
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, arch()?)?.try_into()
}

fn refused(network: &NetworkAccess) -> Filtered<Rules> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let flags = NAMESPACES.iter().map(|flag| has(0, *flag));
    rules.insert(libc::SYS_clone, flags.collect::<Filtered<_>>()?);
    rules.insert(libc::SYS_socket, sockets(network)?);
    // A pair of streams is connected for good; datagrams could be sent to any address all the same.
    let datagrams = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| of_type(1, kind));
    rules.insert(libc::SYS_socketpair, datagrams.into_iter().collect::<Filtered<_>>()?);
    // A first packet with data connects without `connect`, where Landlock would look.
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        rules.insert(call, vec![has(flags, libc::MSG_FASTOPEN)?]);
    }
    if !matches!(network, NetworkAccess::Ports(_)) {
        // A socket that was not bound gets a port of its own when it listens, of which Landlock is not told.
        rules.insert(libc::SYS_listen, Vec::new());
    }
    Ok(rules)
}

/// The sockets that are refused: all, or all but TCP over IP, or all but TCP and UDP.
fn sockets(network: &NetworkAccess) -> Filtered<Vec<SeccompRule>> {
    let ports = match network {
        NetworkAccess::None => return Ok(Vec::new()),
        NetworkAccess::Proxy => &[][..],
        NetworkAccess::Ports(ports) => ports,
    };
    let has_udp = ports.contains(&DNS);
    let mut protocols = vec![0, libc::IPPROTO_TCP];
    let mut rules = vec![none_of(0, &[libc::AF_INET, libc::AF_INET6])?];
    if has_udp {
        protocols.push(libc::IPPROTO_UDP);
    } else {
        rules.push(of_type(1, libc::SOCK_DGRAM)?);
    }
    for kind in OTHER_TYPES {
        rules.push(of_type(1, kind)?);
    }
    // Landlock knows TCP, but not its relatives such as MPTCP.
    rules.push(none_of(2, &protocols)?);
    Ok(rules)
}

/// Whoever may use this port may look names up, for which UDP is needed.
const DNS: u16 = 53;

/// The argument has this flag.
fn has(argument: u8, flag: i32) -> Filtered<SeccompRule> {
    let flag = u64::from(flag.cast_unsigned());
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::MaskedEq(flag), flag)?])
}

/// The argument is a socket's type, and this one.
fn of_type(argument: u8, kind: i32) -> Filtered<SeccompRule> {
    let kind = u64::from(kind.cast_unsigned());
    SeccompRule::new(vec![condition(argument, SeccompCmpOp::MaskedEq(TYPE_MASK), kind)?])
}

/// The argument is none of these.
fn none_of(argument: u8, values: &[i32]) -> Filtered<SeccompRule> {
    let is_not =
        |value: &i32| condition(argument, SeccompCmpOp::Ne, u64::from(value.cast_unsigned()));
    SeccompRule::new(values.iter().map(is_not).collect::<Filtered<_>>()?)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Filtered<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Refuses the x32 interface as a whole: it is hardly used, and has its own number for every call.
fn without_x32() -> BpfProgram {
    let instruction = |code: u32, jt, jf, k| sock_filter {
        #[expect(clippy::cast_possible_truncation, reason = "codes of BPF have 16 bits")]
        code: code as u16,
        jt,
        jf,
        k,
    };
    let refuse = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    vec![
        // The number of the call is the first word of what a filter is shown.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, refuse),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
