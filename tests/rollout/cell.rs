//! What is tried: a server, what stops it, and the balancer in front of it. Two tables, [`short`] and
//! [`long`].

use std::fmt::Write as _;
use std::time::Duration;

/// A server, from Debian's packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Nginx,
    Gunicorn,
    Node,
    Httpd,
}

/// What stands between the stop signal and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopper {
    /// The server is PID 1.
    None,
    Tini,
    DumbInit,
    /// A shell script that waits first, under tini.
    Wrapper,
    /// tini, and a wait in the container before it is stopped, as `preStop` does it.
    PreStop,
    Lameduck,
    /// lameduck that ends its delay when nothing comes any more.
    LameduckQuiet,
    /// lameduck with a drain file, which makes nginx close each connection with its answer.
    LameduckDrainFile,
}

/// How the balancer learns that a backend stops. All are HAProxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Balancer {
    /// From its own health checks, as an ALB does.
    Alb,
    /// From a list that is some seconds behind, as Cloud Map is. No retries.
    Mesh,
    /// The same with two retries elsewhere.
    Retries,
    /// The same, and a proxy beside the server that outlives it and answers 503 for it, as Envoy does.
    Sidecar,
    /// As Mesh, on layer 4, as kube-proxy does.
    Kube,
}

/// Cells that are asked for, and shown, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Short,
    /// Every init behind every balancer.
    Inits,
    /// The other servers.
    Servers,
    /// Delays against the time that the balancer takes.
    Matrix,
    /// Many replacements with a delay that ends by itself.
    Quiet,
}

/// One trial.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) part: Part,
    pub(crate) balancer: Balancer,
    pub(crate) server: Server,
    pub(crate) stopper: Stopper,
    /// The delay of those that have one.
    pub(crate) delay: Duration,
    /// How long `docker stop` waits before it kills.
    pub(crate) grace: Duration,
    /// How many times a backend is replaced.
    pub(crate) replacements: usize,
    /// Requests per second.
    pub(crate) rate: u32,
    /// The share of requests on kept-alive connections, in percent.
    pub(crate) keep_alive: u32,
    /// What makes it differ from others of the same balancer, server and stopper.
    pub(crate) note: &'static str,
    pub(crate) expect: Expect,
}

/// What has to come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Nothing is lost.
    Nothing,
    /// Something is.
    Something,
    /// It is looked at, nothing more.
    Whatever,
}

/// Between the stop and the change of the list in [`Balancer::Mesh`] and its like.
pub(crate) const STALE: Duration = Duration::from_millis(2_500);

/// Between two health checks of [`Balancer::Alb`].
const CHECK_INTERVAL: Duration = Duration::from_millis(700);

/// Longer than any balancer here takes to notice: health checks up to 2.1 s, lists 2.5 s.
const DELAY: Duration = Duration::from_secs(4);

/// A stop timeout that ends within the drain after a delay of [`STALE`].
const KILLED: Duration = Duration::from_secs(3);

const PLAIN: Cell = Cell {
    part: Part::Short,
    balancer: Balancer::Mesh,
    server: Server::Nginx,
    stopper: Stopper::Lameduck,
    delay: DELAY,
    grace: Duration::from_secs(20),
    replacements: 2,
    rate: 60,
    keep_alive: 50,
    note: "",
    expect: Expect::Whatever,
};

/// The same stop under tini and under lameduck: every one of them under tini loses, none under lameduck.
pub(crate) fn short() -> Vec<Cell> {
    let pairs = [
        (Balancer::Mesh, Server::Nginx),
        (Balancer::Kube, Server::Nginx),
        (Balancer::Alb, Server::Nginx),
        (Balancer::Alb, Server::Gunicorn),
        (Balancer::Alb, Server::Node),
    ];
    let both = |(balancer, server)| {
        // On layer 4 a client's connection stays with its server until the server closes it, and a request
        // that crosses that close is lost whatever an init does: see the last cell.
        let keep_alive = if balancer == Balancer::Kube { 0 } else { 50 };
        [(Stopper::Tini, Expect::Something), (Stopper::Lameduck, Expect::Nothing)].map(|(stopper, expect)| Cell {
            balancer,
            server,
            stopper,
            keep_alive,
            expect,
            ..PLAIN
        })
    };
    // Unless it closes them one by one, each with an answer, while it still serves.
    let closing = Cell { balancer: Balancer::Kube, stopper: Stopper::LameduckDrainFile, keep_alive: 100, ..PLAIN };
    let closing = Cell { rate: 250, replacements: 10, expect: Expect::Nothing, ..closing };
    pairs.into_iter().flat_map(both).chain([closing]).collect()
}

/// The other parts: the better part of an hour.
pub(crate) fn long() -> Vec<Cell> {
    let many = Cell { replacements: 10, rate: 120, ..PLAIN };
    let mut cells = Vec::new();
    for balancer in Balancer::ALL {
        for stopper in
            [Stopper::None, Stopper::Tini, Stopper::DumbInit, Stopper::Wrapper, Stopper::PreStop, Stopper::Lameduck]
        {
            cells.push(Cell { part: Part::Inits, balancer, stopper, ..many.clone() });
        }
    }
    for server in [Server::Gunicorn, Server::Node, Server::Httpd] {
        for (stopper, expect) in [(Stopper::Tini, Expect::Something), (Stopper::Lameduck, Expect::Nothing)] {
            let cell = Cell { part: Part::Servers, server, stopper, expect, ..many.clone() };
            cells.extend([Balancer::Alb, Balancer::Mesh].map(|balancer| Cell { balancer, ..cell.clone() }));
        }
    }
    for balancer in [Balancer::Alb, Balancer::Mesh] {
        let notice = balancer.notice();
        for (delay, note, expect) in [
            (notice * 2 / 5, "delay below the notice", Expect::Something),
            (notice, "delay at the notice", Expect::Whatever),
            (DELAY, "delay above the notice", Expect::Nothing),
        ] {
            cells.push(Cell { part: Part::Matrix, balancer, delay, note, expect, ..many.clone() });
        }
    }
    // Half a second of drain for what takes a second: what came last is cut.
    let killed = Cell { part: Part::Matrix, delay: STALE, grace: KILLED, note: "killed in the drain", ..many };
    cells.push(Cell { expect: Expect::Something, ..killed });
    let quiet = Cell { part: Part::Quiet, stopper: Stopper::LameduckQuiet, delay: DELAY * 2, ..PLAIN };
    cells.push(Cell { balancer: Balancer::Alb, replacements: 200, rate: 300, expect: Expect::Nothing, ..quiet });
    cells
}

// === impl Cell ===

impl Cell {
    /// `alb nginx lameduck`, in the long form with its part in front.
    pub(crate) fn name(&self) -> String {
        let part = if self.part == Part::Short { "" } else { self.part.name() };
        let words = [part, self.balancer.name(), self.server.name(), self.stopper.name(), self.note];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// What it takes, roughly.
    pub(crate) fn takes(&self) -> Duration {
        /// Two backends and a balancer, the load's own lead and settle, and the removal.
        const FIXED: Duration = Duration::from_secs(12);
        /// A new backend until it is in rotation, and the end of an old one: the longest request.
        const EACH: Duration = Duration::from_secs(3);
        let waits = match self.stopper {
            // A second after the balancer has noticed.
            Stopper::LameduckQuiet => STALE + Duration::from_secs(1),
            _ if self.has_a_delay() => self.delay.max(STALE),
            _ => STALE,
        };
        FIXED + (EACH + waits) * u32::try_from(self.replacements).unwrap_or(u32::MAX)
    }

    /// Whether anything waits before the server is told to stop.
    pub(crate) fn has_a_delay(&self) -> bool {
        !matches!(self.stopper, Stopper::None | Stopper::Tini | Stopper::DumbInit)
    }

    /// What `docker run` is given behind the image.
    pub(crate) fn command(&self) -> Vec<String> {
        let seconds = self.delay.as_secs_f64().to_string();
        let delay = format!("--delay={seconds}s");
        let health = ["--health-listen=0.0.0.0:8081", "--health-path=/healthz"];
        let mut words: Vec<&str> = match self.stopper {
            Stopper::None => vec![],
            Stopper::Tini | Stopper::PreStop => vec!["tini", "--"],
            Stopper::DumbInit => vec!["dumb-init", "--"],
            Stopper::Wrapper => vec!["tini", "--", "/rollout/wrapper.sh", &seconds, self.server.graceful()],
            Stopper::Lameduck => vec!["lameduck", &delay, "--drain-timeout=10s"],
            Stopper::LameduckQuiet => {
                vec!["lameduck", &delay, "--quiet=1s", "--min-delay=1s", "--drain-timeout=10s"]
            }
            Stopper::LameduckDrainFile => {
                vec!["lameduck", &delay, "--drain-file=/tmp/draining", "--drain-timeout=10s"]
            }
        };
        if self.has_a_health_port() {
            words.extend(health);
        }
        if self.stopper.is_lameduck() {
            words.push("--");
        }
        words.extend(self.server.command());
        words.into_iter().map(str::to_owned).collect()
    }

    /// The signal of `docker stop`: the server's own graceful one, where nobody in between knows it.
    pub(crate) fn stop_signal(&self) -> &'static str {
        match self.stopper {
            Stopper::Wrapper => "TERM",
            stopper if stopper.is_lameduck() => "TERM",
            _ => self.server.graceful(),
        }
    }

    /// Where the balancer's health checks go.
    pub(crate) fn health_port(&self) -> u16 {
        if self.has_a_health_port() { 8081 } else { 8080 }
    }

    /// Where requests go.
    pub(crate) fn port(&self) -> u16 {
        if self.balancer == Balancer::Sidecar { 8000 } else { 8080 }
    }

    /// Whether lameduck answers the health checks.
    pub(crate) fn has_a_health_port(&self) -> bool {
        self.stopper.is_lameduck() && self.balancer == Balancer::Alb
    }
}

// === impl Part ===

impl Part {
    pub(crate) const ALL: [Self; 5] = [Self::Short, Self::Inits, Self::Servers, Self::Matrix, Self::Quiet];

    /// The word that asks for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Inits => "inits",
            Self::Servers => "servers",
            Self::Matrix => "matrix",
            Self::Quiet => "quiet",
        }
    }

    /// What it is about.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Short => "tini and lameduck in the same image",
            Self::Inits => "nginx under six inits behind five balancers",
            Self::Servers => "gunicorn, node and httpd",
            Self::Matrix => {
                "delay below, at and above the time that the balancer takes to notice, and a stop timeout below the drain"
            }
            Self::Quiet => "nginx with --quiet, replaced again and again",
        }
    }
}

// === impl Server ===

impl Server {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Gunicorn => "gunicorn",
            Self::Node => "node",
            Self::Httpd => "httpd",
        }
    }

    fn command(self) -> Vec<&'static str> {
        match self {
            Self::Nginx => vec!["nginx", "-c", "/rollout/nginx.conf"],
            Self::Gunicorn => {
                let words =
                    "gunicorn --chdir /rollout -b 0.0.0.0:8080 -w 2 -k gthread --threads 32 --keep-alive 75 app:app";
                words.split(' ').collect()
            }
            Self::Node => vec!["node", "/rollout/app.js"],
            Self::Httpd => vec!["apache2", "-f", "/rollout/httpd.conf", "-DFOREGROUND"],
        }
    }

    /// Its graceful signal; for node, which has none, what everybody sends.
    fn graceful(self) -> &'static str {
        match self {
            Self::Nginx => "QUIT",
            Self::Gunicorn | Self::Node => "TERM",
            Self::Httpd => "WINCH",
        }
    }
}

// === impl Stopper ===

impl Stopper {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "alone",
            Self::Tini => "tini",
            Self::DumbInit => "dumb-init",
            Self::Wrapper => "wrapper",
            Self::PreStop => "preStop",
            Self::Lameduck => "lameduck",
            Self::LameduckQuiet => "lameduck --quiet",
            Self::LameduckDrainFile => "lameduck --drain-file",
        }
    }

    fn is_lameduck(self) -> bool {
        matches!(self, Self::Lameduck | Self::LameduckQuiet | Self::LameduckDrainFile)
    }
}

// === impl Balancer ===

impl Balancer {
    pub(crate) const ALL: [Self; 5] = [Self::Alb, Self::Mesh, Self::Retries, Self::Sidecar, Self::Kube];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Alb => "alb",
            Self::Mesh => "mesh",
            Self::Retries => "retries",
            Self::Sidecar => "sidecar",
            Self::Kube => "kube",
        }
    }

    /// Whether it has to be told that a backend has gone; else it finds out.
    pub(crate) fn has_a_list(self) -> bool {
        self != Self::Alb
    }

    /// How long it goes on sending to a backend that stops.
    fn notice(self) -> Duration {
        // Two failed checks: it takes from one to two intervals, beside the list that is always as late.
        if self == Self::Alb { CHECK_INTERVAL * 2 } else { STALE }
    }

    /// HAProxy's configuration, with empty places for so many backends.
    pub(crate) fn config(self, places: usize, health_port: u16) -> String {
        let http = self != Self::Kube;
        let retries = matches!(self, Self::Retries | Self::Sidecar);
        let mut text = format!(
            "global\n stats socket ipv4@*:9999 level admin\n maxconn 4000\ndefaults\n mode {}\n timeout connect 1s\n \
             timeout client 60s\n timeout server 30s\n timeout check 2s\n retries {}\n",
            if http { "http" } else { "tcp" },
            if retries { 2 } else { 0 },
        );
        if retries {
            text += " option redispatch 1\n retry-on conn-failure empty-response\n";
        }
        if http {
            text += " option http-keep-alive\n http-reuse always\n";
        }
        text += "frontend front\n bind :80\n default_backend back\nbackend back\n balance roundrobin\n";
        let mut check = String::new();
        if self == Self::Alb {
            text += " option httpchk GET /healthz\n http-check expect status 200\n";
            let interval = CHECK_INTERVAL.as_millis();
            check = format!(" check port {health_port} inter {interval}ms fall 2 rise 1");
        }
        for place in 1..=places {
            let _ = writeln!(text, " server s{place} 127.0.0.1:1 disabled{check}");
        }
        text
    }
}

/// The proxy beside the server: no retries, and its own 503 when the server has gone.
pub(crate) const SIDECAR: &str = "defaults\n mode http\n timeout connect 1s\n timeout client 60s\n timeout server 30s\n \
     retries 0\n http-reuse always\nfrontend front\n bind :8000\n default_backend back\nbackend back\n server app 127.0.0.1:8080\n";
