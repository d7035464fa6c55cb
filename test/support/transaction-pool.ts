import { connect, createServer, type Server, type Socket } from 'node:net';

/** What the pool does with the settings that a client begins its session with. */
export type TransactionPoolKind = 'drops settings' | 'passes settings on';

/**
 * A connection pool in transaction mode, as far as a client sees it: one session of the server, in
 * which the statements of all clients run one after another. It greets clients by itself.
 */
export class TransactionPool {
  readonly #server: Server;
  readonly #clients = new Set<Socket>();
  readonly #kind: TransactionPoolKind;
  readonly #port: number;
  #far: Socket | undefined;
  /** Whose statement runs. */
  #current: Socket | undefined;
  readonly #waiting: { readonly client: Socket; readonly bytes: Buffer }[] = [];
  #rest: Buffer = Buffer.alloc(0);

  private constructor(port: number, kind: TransactionPoolKind) {
    this.#port = port;
    this.#kind = kind;
    this.#server = createServer((client) => this.#take(client));
  }

  static async to(port: number, kind: TransactionPoolKind): Promise<TransactionPool> {
    const pool = new TransactionPool(port, kind);
    await new Promise<void>((resolve) => pool.#server.listen(0, '127.0.0.1', resolve));
    return pool;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  async stop(): Promise<void> {
    this.#far?.destroy();
    for (const client of this.#clients) client.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(client: Socket): void {
    this.#clients.add(client);
    client.on('error', () => undefined);
    client.once('data', (startup: Buffer) => {
      client.on('data', (bytes: Buffer) => this.#ask(client, bytes));
      if (this.#far === undefined) this.#begin(client, startup);
      else client.write(greeting);
    });
  }

  /** The session of the server begins with what the first client sends. */
  #begin(client: Socket, startup: Buffer): void {
    const far = connect(this.#port, '127.0.0.1');
    this.#far = far;
    far.on('error', () => undefined);
    far.write(this.#kind === 'drops settings' ? withoutOptions(startup) : startup);
    far.on('data', (bytes: Buffer) => this.#hear(bytes));
    this.#current = client;
  }

  #ask(client: Socket, bytes: Buffer): void {
    // `X` ends the client, not the session.
    if (bytes[0] === 0x58) return;
    this.#waiting.push({ client, bytes });
    this.#next();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#current = next.client;
    this.#far?.write(next.bytes);
  }

  /** Passes whole messages on; after `Z` the session is free. The key of the server is replaced. */
  #hear(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= 5) {
      const size = 1 + this.#rest.readInt32BE(1);
      if (this.#rest.length < size) return;
      const message = Buffer.from(this.#rest.subarray(0, size));
      this.#rest = this.#rest.subarray(size);
      const kind = String.fromCharCode(message[0] ?? 0);
      if (kind === 'K') message.writeInt32BE(1, 5);
      this.#current?.write(message);
      if (kind === 'Z') {
        this.#current = undefined;
        this.#next();
      }
    }
  }
}

/** `R` authenticated, `K` a key of the pool, `Z` ready. */
const greeting = Buffer.from([
  ...[0x52, 0, 0, 0, 8, 0, 0, 0, 0],
  ...[0x4b, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1],
  ...[0x5a, 0, 0, 0, 5, 0x49],
]);

/** The first message of a client, without the settings in `options`. */
function withoutOptions(startup: Buffer): Buffer {
  const parts = startup.subarray(8).toString('latin1').split('\0');
  const at = parts.indexOf('options');
  if (at >= 0) parts.splice(at, 2);
  const body = Buffer.from(parts.join('\0'), 'latin1');
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + body.length, 0);
  startup.copy(head, 4, 4, 8);
  return Buffer.concat([head, body]);
}
