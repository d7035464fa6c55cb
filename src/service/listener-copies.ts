import { type ChildProcess, spawn } from 'node:child_process';
import type { Server, Socket } from 'node:net';

/**
 * Accepts several connections per round of the event loop. Node accepts one per listening socket
 * and round; when rounds are slow, thousands would wait, each for as many rounds as it has
 * predecessors. Each listening copy of the descriptor adds one connection to a round.
 *
 * A process can copy a descriptor only by sending it to another process. So a short-lived child
 * gets the listening socket and sends it back as often as needed; connections that it accepts
 * meanwhile are sent back too. If no child can be started, the single listener works alone.
 */
export class ListenerCopies {
  readonly #server: Server;
  readonly #copies: Server[] = [];
  #isClosed = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Adds copies to a listening `server` while it serves; its events cover all connections. */
  static of(server: Server, count: number): ListenerCopies {
    const copies = new ListenerCopies(server);
    if (count > 0) copies.#make(startMirror(), count);
    return copies;
  }

  /** The number of copies so far. */
  get count(): number {
    return this.#copies.length;
  }

  /** Stops accepting; resolves when the connections accepted by copies have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#copies.map(closed));
  }

  #make(mirror: ChildProcess, count: number): void {
    mirror.on('error', () => undefined);
    mirror.on('message', (kind, handle) => {
      if (kind === 'socket') this.#take(handle as Socket);
      else this.#add(handle as Server);
    });
    mirror.send(count, this.#server, () => undefined);
    // It exits on its own and must not keep this process alive.
    mirror.unref();
    mirror.channel?.unref();
  }

  #add(copy: Server): void {
    copy.on('error', () => undefined);
    copy.maxConnections = this.#server.maxConnections;
    copy.on('connection', (socket) => this.#take(socket));
    if (this.#isClosed) copy.close();
    else this.#copies.push(copy);
  }

  /** Hands a connection to the server, with the options of an HTTP server. */
  #take(socket: Socket): void {
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    this.#server.emit('connection', socket);
  }
}

const mirrorSource = `
  process.once('message', (count, server) => {
    server.pauseOnConnect = true;
    server.on('connection', (socket) => process.send('socket', socket));
    let left = count;
    const sent = () => {
      left -= 1;
      if (left === 0) server.close(() => process.disconnect());
    };
    for (let each = 0; each < count; each += 1) process.send('listener', server, sent);
  });
  process.on('disconnect', () => process.exit());`;

function startMirror(): ChildProcess {
  return spawn(process.execPath, ['-e', mirrorSource], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {},
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
