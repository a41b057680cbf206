//! Members that fail while a run is under way.

use super::Seen;
use super::members::{Member, Site, free_port, server, wait};
use anyhow::{Result, ensure};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const WORKERS: usize = 4;
const SLOTS: usize = 4;
/// A command that takes a moment and writes down that it was called.
const TARGET: &str = "{name: default, provider: cli, command_template: 'echo {EVAL_ID} >> [DIR]/calls; sleep 0.05; echo ok'}";

/// One worker is killed every two seconds, and the server once.
pub(super) fn killed_workers(binary: &Path) -> Result<Seen> {
    const CASES: usize = 2000;
    let port = free_port()?;
    let site = Site::new(binary, TARGET, CASES, &format!("nats://127.0.0.1:{port}"))?;
    let store = site.path("store");
    let mut nats = server(&store, port, &[])?;
    let mut names = 0..;
    let mut start =
        || site.worker(&format!("worker-{}", names.next().unwrap_or(0)), SLOTS, &site.url);
    let mut workers = (0..WORKERS).map(|_| start()).collect::<Result<Vec<Member>>>()?;
    let mut kills = 0;
    let (mut next_kill, began) = (Instant::now() + Duration::from_secs(2), Instant::now());
    let mut is_server_killed = false;
    let took = wait(site.eval()?, &site, || {
        if Instant::now() >= next_kill {
            // In turn; dropped, it is killed.
            workers[kills % WORKERS] = start()?;
            kills += 1;
            next_kill = Instant::now() + Duration::from_secs(2);
        }
        if !is_server_killed && began.elapsed() > Duration::from_secs(5) {
            is_server_killed = true;
            nats.0.kill()?;
            nats.0.wait()?;
            thread::sleep(Duration::from_secs(1));
            nats = server(&store, port, &[])?;
        }
        Ok(())
    })?;
    site.check_records(CASES)?;
    let (wasted, bound) = (site.wasted_calls()?, kills * SLOTS);
    ensure!(is_server_killed, "the run was over before the server was killed");
    ensure!(wasted <= bound, "{wasted} calls were wasted, more than {bound}");
    Ok(vec![format!(
        "{CASES} cases, {WORKERS} workers with {SLOTS} slots, a worker killed every 2 s ({kills} times) and the server once: {CASES} records, each case once; {wasted} calls wasted, of {bound} that may be; {:.0} s",
        took.as_secs_f64()
    )])
}

/// A worker is cut off from the server for ten seconds.
pub(super) fn network_cut(binary: &Path) -> Result<Seen> {
    const CASES: usize = 300;
    let port = free_port()?;
    let site = Site::new(binary, TARGET, CASES, &format!("nats://127.0.0.1:{port}"))?;
    let _nats = server(&site.path("store"), port, &[])?;
    let wire = Wire::to(port)?;
    let _far = site.worker("far", SLOTS, &format!("nats://127.0.0.1:{}", wire.port))?;
    let _near = site.worker("near", 1, &site.url)?;
    let began = Instant::now();
    let took = wait(site.eval()?, &site, || {
        let is_cut = (1.0..11.0).contains(&began.elapsed().as_secs_f64());
        wire.is_cut.store(is_cut, Ordering::Relaxed);
        Ok(())
    })?;
    site.check_records(CASES)?;
    Ok(vec![format!(
        "The network between a worker and the server cut for 10 s: {CASES} records, each case once; {} calls wasted; {:.0} s",
        site.wasted_calls()?,
        took.as_secs_f64()
    )])
}

/// Three servers, of which the one that leads is killed.
pub(super) fn three_servers(binary: &Path) -> Result<Seen> {
    const CASES: usize = 400;
    let ports = [free_port()?, free_port()?, free_port()?];
    let routes = [free_port()?, free_port()?, free_port()?];
    let urls = ports.map(|port| format!("nats://127.0.0.1:{port}")).join(",");
    let peers = routes.map(|port| format!("nats://127.0.0.1:{port}")).join(",");
    let site = Site::new(binary, TARGET, CASES, &urls)?;
    let mut servers = Vec::new();
    for index in 0..3 {
        let word = |text: &str| text.to_owned();
        let more = [
            word("--name"),
            format!("n{index}"),
            word("--cluster_name"),
            word("three"),
            word("--cluster"),
            format!("nats://127.0.0.1:{}", routes[index]),
            word("--routes"),
            peers.clone(),
            word("--http_port"),
            word("-1"),
        ];
        servers.push(Some(server(&site.path(&format!("store-{index}")), ports[index], &more)?));
    }
    // They agree on a leader first.
    thread::sleep(Duration::from_secs(8));
    let _workers = ["one", "two"]
        .map(|name| site.worker(name, SLOTS, &urls))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    let began = Instant::now();
    let mut killed = None;
    let took = wait(site.eval()?, &site, || {
        let is_under_way =
            fs::read_to_string(site.path("calls")).is_ok_and(|calls| calls.lines().count() > 40);
        if killed.is_none() && is_under_way {
            let leader = leader(&site, &urls).unwrap_or(0);
            servers[leader] = None;
            killed = Some((leader, began.elapsed()));
        }
        Ok(())
    })?;
    site.check_records(CASES)?;
    ensure!(killed.is_some(), "the run was over before a server was killed");
    Ok(vec![format!(
        "Three servers, the leader of the jobs killed during a run: {CASES} records, each case once; {} calls wasted; {:.0} s",
        site.wasted_calls()?,
        took.as_secs_f64()
    )])
}

/// Which server leads the stream of jobs.
fn leader(site: &Site, urls: &str) -> Option<usize> {
    let output = site
        .agentv("", &["cluster", "status", "--format", "json", "--cluster", urls])
        .stdout(std::process::Stdio::piped())
        .output()
        .ok()?;
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    status["leader"].as_str()?.strip_prefix('n')?.parse().ok()
}

/// A connection that can be cut.
struct Wire {
    port: u16,
    is_cut: Arc<AtomicBool>,
}

impl Wire {
    fn to(server: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let is_cut = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&is_cut);
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { continue };
                    let cut = Arc::clone(&cut);
                    thread::spawn(move || carry(from, to, &cut));
                }
            }
        });
        Ok(Self { port, is_cut })
    }
}

/// Carries bytes in one direction. While it is cut nothing gets through, and neither side hears of it.
fn carry(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        while cut.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
