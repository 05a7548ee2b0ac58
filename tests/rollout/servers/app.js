// A page at once, and one after a second. No handler for any signal, as most are written.
const http = require('http');
const server = http.createServer((request, response) => {
  const answer = () => response.end('done\n');
  if (request.url === '/slow') setTimeout(answer, 1000); else answer();
});
server.keepAliveTimeout = 75000;
server.listen(8080);
