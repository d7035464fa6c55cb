import { connect, createServer, type Server, type Socket } from 'node:net';

/** Where a connection is cut: around the first large request after `arm`. */
export type CutPlace = 'before the request' | 'within the request' | 'before the answer';

/** Bytes from which a request is taken for the one to cut. */
const largeBytes = 16_384;

/** Passes connections on to a server, and cuts one of them at a chosen place. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #armed: CutPlace | undefined;
  #isCut = false;

  private constructor(port: number) {
    this.#server = createServer((near) => this.#pass(near, port));
  }

  static async to(port: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  arm(place: CutPlace): void {
    this.#armed = place;
  }

  /** Ends all connections, and lets none through until it is healed. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  heal(): void {
    this.#isCut = false;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(near: Socket, port: number): void {
    if (this.#isCut) return void near.destroy();
    const far = connect(port, '127.0.0.1');
    const both = [near, far];
    let isWaiting = false;
    const cut = (): void => {
      for (const socket of both) socket.destroy();
    };
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        cut();
      });
    }
    near.on('data', (bytes: Buffer) => {
      const place = bytes.length >= largeBytes ? this.#armed : undefined;
      if (place === undefined) return void far.write(bytes);
      this.#armed = undefined;
      if (place === 'before the request') return cut();
      isWaiting = place === 'before the answer';
      far.write(bytes, () => (isWaiting ? undefined : cut()));
    });
    far.on('data', (bytes: Buffer) => (isWaiting ? cut() : near.write(bytes)));
  }
}
