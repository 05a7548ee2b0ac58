//! The servers' configurations: `/` is answered at once, `/slow` by the backend, through the server.

/// The modules that httpd needs to answer and to pass requests on.
pub(super) const HTTPD_MODULES: [&str; 4] = ["mpm_event", "authz_core", "proxy", "proxy_http"];

/// nginx.
pub(super) fn nginx(port: u16, backend: u16) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("    {kind}_temp_path /tmp/{kind};\n"))
        .collect::<Vec<_>>();
    let temporary = temporary.concat();
    format!(
        "daemon off;
worker_processes 2;
pid /tmp/nginx.pid;
error_log stderr warn;
events {{
}}
http {{
    access_log off;
{temporary}    server {{
        listen 127.0.0.1:{port};
        location / {{
            return 200 \"done\\n\";
        }}
        location /slow {{
            proxy_buffering off;
            proxy_pass http://127.0.0.1:{backend};
        }}
    }}
}}
"
    )
}

/// HAProxy.
pub(super) fn haproxy(port: u16, backend: u16) -> String {
    format!(
        "defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
frontend front
    bind 127.0.0.1:{port}
    http-request return status 200 content-type text/plain string \"done\\n\" unless {{ path /slow }}
    default_backend back
backend back
    server slow 127.0.0.1:{backend}
"
    )
}

/// httpd, which Debian calls apache2.
pub(super) fn httpd(port: u16, backend: u16) -> String {
    let modules = HTTPD_MODULES
        .iter()
        .map(|module| format!("LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so\n"))
        .collect::<Vec<_>>();
    let modules = modules.concat();
    format!(
        "{modules}ServerName localhost
PidFile /tmp/httpd.pid
DefaultRuntimeDir /tmp
User nobody
Group nogroup
Listen 127.0.0.1:{port}
ErrorLog /dev/stderr
DocumentRoot /var/www
StartServers 1
ThreadsPerChild 25
ProxyPass /slow http://127.0.0.1:{backend}/slow
<Directory /var/www>
    Require all granted
</Directory>
"
    )
}
