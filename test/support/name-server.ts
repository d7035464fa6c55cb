import { createSocket, type Socket } from 'node:dgram';
import type { AddressInfo } from 'node:net';

/** Addresses of a name, or `undefined` for no answer at all. */
export type Answer = (name: string, asked: number) => readonly string[] | undefined;

/** A name server on loopback: answers for IPv4 and IPv6, with nothing to be kept (RFC 1035). */
export class NameServer {
  readonly #socket: Socket;
  readonly #answer: Answer;
  /** Times that IPv4 addresses of each name were asked for. */
  readonly asked = new Map<string, number>();

  private constructor(socket: Socket, answer: Answer) {
    this.#socket = socket;
    this.#answer = answer;
    socket.on('message', (message, { port, address }) => {
      const reply = this.#reply(message);
      if (reply !== undefined) socket.send(reply, port, address);
    });
  }

  static async start(answer: Answer): Promise<NameServer> {
    const socket = createSocket('udp4');
    await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
    return new NameServer(socket, answer);
  }

  get address(): string {
    return `127.0.0.1:${(this.#socket.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    return new Promise((done) => this.#socket.close(() => done()));
  }

  #reply(message: Buffer): Buffer | undefined {
    const labels: string[] = [];
    let at = 12;
    for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
      labels.push(message.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const [name, type] = [labels.join('.'), message.readUInt16BE(at + 1)];
    const asked = (this.asked.get(name) ?? 0) + (type === 1 ? 1 : 0);
    this.asked.set(name, asked);
    const all = this.#answer(name, asked);
    if (all === undefined) return undefined;
    const found = all.map(bytesOf).filter(({ length }) => length === (type === 1 ? 4 : 16));
    const head = Buffer.alloc(12);
    message.copy(head, 0, 0, 2);
    // A response, recursion available; 3: there is no such name.
    head.writeUInt16BE(all.length === 0 ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found.length, 6);
    const records = found.map((address) => {
      const record = Buffer.alloc(12);
      // The name is that of the question.
      record.writeUInt16BE(0xc00c, 0);
      record.writeUInt16BE(type, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt16BE(address.length, 10);
      return Buffer.concat([record, address]);
    });
    return Buffer.concat([head, message.subarray(12, at + 5), ...records]);
  }
}

function bytesOf(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  const host = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [before = '', after] = host.split('::');
  const groups = (half: string) => (half === '' ? [] : half.split(':'));
  const [first, last] = [groups(before), groups(after ?? '')];
  const all = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
