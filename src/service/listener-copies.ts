import { type ChildProcess, spawn } from 'node:child_process';
import type { Server, Socket } from 'node:net';

/**
 * Node takes one new connection from a listening socket in each round of the event loop. In a round
 * that has much to do, thousands would wait, each for as many rounds as there are before it. Copies
 * of the descriptor are listened on, too, so each of them adds one connection to a round.
 *
 * A process can copy a descriptor only by sending it to another. So a child that lives for a moment
 * gets the listening socket and sends it back as often as is wanted; a connection that it takes
 * meanwhile comes back, too. Where no child can be started, the one listener does it alone.
 */
export class ListenerCopies {
  readonly #server: Server;
  readonly #copies: Server[] = [];
  #isClosed = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** `server` listens; copies come while it serves, and its events tell of all connections. */
  static of(server: Server, count: number): ListenerCopies {
    const copies = new ListenerCopies(server);
    if (count > 0) copies.#make(startMirror(), count);
    return copies;
  }

  /** How many there are by now. */
  get count(): number {
    return this.#copies.length;
  }

  /** Takes no new connections; resolves when those that copies took have ended. */
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
    // It ends by itself, and nobody waits for it.
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

  /** Its options are those of a server for HTTP. */
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
