import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { freePort, root } from '../service/harness.ts';

const folder = path.join(root, 'dist/console');
const policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

/** Serves the console with its policy, and hands everything else to a service. */
export async function startFront(port: number): Promise<{ url: string; close: () => void }> {
  const server = createServer((incoming, answer) => {
    const { pathname } = new URL(incoming.url ?? '/', 'http://localhost');
    if (pathname.startsWith('/console/')) {
      const asked = path.join(folder, pathname.slice('/console/'.length));
      const isFile = asked.startsWith(folder) && existsSync(asked) && statSync(asked).isFile();
      const file = isFile ? asked : path.join(folder, 'index.html');
      answer.setHeader('content-security-policy', policy);
      answer.setHeader('content-type', types[path.extname(file)] ?? 'application/octet-stream');
      createReadStream(file).pipe(answer);
      return;
    }
    const standIn = standInFor(pathname, String(incoming.headers.authorization ?? ''));
    if (standIn !== undefined) {
      answer.setHeader('content-type', 'application/json');
      answer.end(JSON.stringify(standIn));
      return;
    }
    const { method = 'GET', headers, url: target = '/' } = incoming;
    const options = { host: '127.0.0.1', port, method, headers, path: target };
    const onward = request(options, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  });
  passUpgrades(server, port);
  const own = await freePort();
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${own}`, close };
}

/** Who owns the databases; set by the stage. */
export const owner = { token: '' };

/** Answers of endpoints that the service does not have yet. */
function standInFor(pathname: string, authorization: string): unknown {
  const isOwner = authorization === `Bearer ${owner.token}`;
  if (pathname === '/v1/service') {
    return { version: '0.1.0', started_at: new Date(0).toISOString(), features: [], issuers: [] };
  }
  if (pathname === '/v1/databases') {
    return [{ name: 'market', identity: 'c200', owner: null, state: 'serving', rows: 504 }];
  }
  if (!pathname.endsWith('/rights')) return undefined;
  return {
    identity: 'c200'.padEnd(64, '0'),
    role: isOwner ? 'owner' : 'stranger',
    limited: false,
    may: { read_private: isOwner, write_sql: isOwner, preview: isOwner, publish: isOwner },
  };
}

function passUpgrades(server: Server, port: number): void {
  server.on('upgrade', (incoming, socket, head) => {
    const onward = connect(port, '127.0.0.1', () => {
      const lines = [`${incoming.method} ${incoming.url} HTTP/1.1`];
      for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
        lines.push(`${incoming.rawHeaders[at]}: ${incoming.rawHeaders[at + 1]}`);
      }
      onward.write(`${lines.join('\r\n')}\r\n\r\n`);
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [socket, onward]) {
      end.on('error', () => {
        socket.destroy();
        onward.destroy();
      });
    }
  });
}
