import { connect as connectTcp } from 'node:net';
import type { Random } from '../../../src/testing/random.ts';
import type { Person } from '../running.ts';
import { SocketClient } from '../socket-client.ts';
import { type Speech, speechOf, versions } from '../speech.ts';

/** Where the load goes, and on whose behalf. */
export interface Target {
  readonly url: string;
  readonly database: string;
  readonly people: readonly Person[];
}

export const zoneCount = 4;
export const itemCount = 200;

const queries = [
  'SELECT * FROM item',
  'SELECT * FROM item WHERE zone = 1',
  'SELECT * FROM item WHERE id < 50 AND zone = 2',
  'SELECT item.* FROM item JOIN zone ON item.zone = zone.id WHERE zone.is_open = true',
  'SELECT * FROM zone',
  'SELECT * FROM note',
  'SELECT * FROM mine',
  'SELECT * FROM in_zone_one',
  'SELECT zone.* FROM zone JOIN mine ON zone.id = mine.zone',
];
const mistakes = ['SELECT', 'SELECT * FROM nothing', 'SELECT id FROM item', ''];

/** A client that stays for a while. It keeps nothing of what it is told. */
export class Visitor {
  readonly client: SocketClient;
  readonly #speech: Speech;
  readonly #random: Random;
  #sets = 0;

  private constructor(client: SocketClient, speech: Speech, random: Random) {
    this.client = client;
    this.#speech = speech;
    this.#random = random;
  }

  /** Rejects when it is not let in. */
  static async arrive(target: Target, random: Random): Promise<Visitor> {
    const version = random.pick(versions);
    const { token } = random.pick(target.people);
    const compression = random.pick(['None', 'Gzip', 'Brotli']);
    const confirmed = random.chance(0.5);
    const client = await SocketClient.open(target.url, target.database, {
      protocols: [`${version}.spacetimedb`],
      query: `compression=${compression}&confirmed=${confirmed}`,
      headers: { authorization: `Bearer ${token}` },
    });
    client.socket.on('message', () => client.frames.splice(0));
    return new Visitor(client, speechOf(version), random);
  }

  /** Asks for one thing or another, which may be nonsense. */
  act(): void {
    const random = this.#random;
    const speech = this.#speech;
    const id = random.below(itemCount);
    const say = (message: Uint8Array | string) => this.client.send(message);
    const choice = random.below(16);
    if (choice < 7) {
      const text = 'x'.repeat(random.below(80));
      say(speech.call(id, 'put', [id, random.below(zoneCount), text], random.chance(0.3)));
    } else if (choice === 7) say(speech.call(id, 'remove', [id]));
    else if (choice === 8) say(speech.call(id, 'ring', ['ding']));
    else if (choice === 9) say(speech.call(id, random.pick(['refuse', 'nobody']), [id]));
    else if (choice === 10) say(speech.call(id, 'put', ['no number']));
    else if (choice === 11) say(speech.oneOff(id, random.pick(queries)));
    else if (choice === 12) say(speech.oneOff(id, random.pick(mistakes)));
    else if (choice === 13) this.subscribe([random.pick(mistakes)]);
    else if (choice === 14 && this.#sets > 0) say(speech.unsubscribe(id, this.#sets--));
    else if (this.#sets < 3) this.subscribe(queries.filter(() => random.chance(0.3)));
  }

  subscribe(texts: readonly string[]): void {
    this.#sets += 1;
    this.client.send(this.#speech.subscribe(this.#sets, this.#sets, texts));
  }

  /** Reads nothing any more; what it sends is heard. */
  stopReading(): void {
    this.client.socket.pause();
  }

  /** Leaves in one of the ways in which clients do. */
  async leave(): Promise<void> {
    const { socket, ended } = this.client;
    const way = this.#random.below(4);
    if (way === 0) socket.terminate();
    else if (way === 1) this.client.send(Uint8Array.of(99));
    else if (way === 2) socket.close(4001, 'away');
    else {
      // In the middle of a request.
      this.act();
      socket.terminate();
    }
    socket.resume();
    const late = setTimeout(() => socket.terminate(), 3_000);
    await ended;
    clearTimeout(late);
  }
}

/** Comes to the door and does not get in, or leaves on the threshold. */
export function knock({ url, database }: Target, random: Random): Promise<void> {
  const { port, hostname } = new URL(url);
  const path = random.pick([
    `/v1/database/${database}/subscribe`,
    '/v1/database/nobody/subscribe',
    `/v1/database/${database}/subscribe?light=1`,
    `/v1/database/${database}/subscribe?token=none`,
  ]);
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Host: x',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    `Sec-WebSocket-Protocol: ${random.pick(['v3.bsatn.spacetimedb', 'v2.bsatn.spacetimedb', 'x'])}`,
  ];
  const whole = `${lines.join('\r\n')}\r\n\r\n`;
  const isHalf = random.chance(0.4);
  const stayMillis = random.below(200);
  return new Promise((resolve) => {
    const socket = connectTcp(Number(port), hostname, () => {
      socket.write(isHalf ? whole.slice(0, random.below(whole.length)) : whole);
      setTimeout(() => socket.destroy(), stayMillis);
    });
    socket.on('error', () => undefined);
    socket.on('data', () => undefined);
    socket.on('close', () => resolve());
  });
}

/** Requests by HTTP, some of which fail. */
export async function request({ url, database, people }: Target, random: Random): Promise<void> {
  const { token } = random.pick(people);
  const [where, body] = random.pick([
    ['sql', 'SELECT * FROM item WHERE zone = 1'],
    ['sql', 'SELECT COUNT(*) AS n FROM mine'],
    ['sql', 'SELECT * FROM nobody'],
    ['sql', `UPDATE item SET text = 'y' WHERE id = ${random.below(8)}`],
    ['call/put', JSON.stringify([random.below(itemCount), 1, 'z'])],
    ['call/crash', '[]'],
    ['call/put', '[]'],
    ['nothing', ''],
  ] as const);
  const address = `${url}/v1/database/${database}/${where}`;
  // How many connections the platform keeps open for later says nothing about the service.
  const headers = { authorization: `Bearer ${token}`, connection: 'close' };
  const answer = await fetch(address, { method: 'POST', body, headers });
  await answer.arrayBuffer();
}
