import { connect } from 'node:net';
import {
  type Attacker,
  bothModes,
  breach,
  type Field,
  labelOf,
  pause,
  strike,
} from './attacker.ts';

const bodyBytes = 2_000_000;

const fill = (piece: string, before = '', after = '') =>
  before +
  piece.repeat(Math.floor((bodyBytes - before.length - after.length) / piece.length)) +
  after;

/** JSON that is slow to read, to check or to refuse. */
const bodies: readonly string[] = [
  fill('"a":1,', '[{', '"a":1}]'),
  fill('[', '', ''),
  fill('{"a":', '', ''),
  fill('1,', '[', '1]'),
  fill('9', '[', ']'),
  fill('\\u0041', '["', '"]'),
  fill('"",', '[', '""]'),
  fill('[],', '[', '[]]'),
  fill(' ', '[', ']'),
  fill('1e5,', '[', '1]'),
];

const statements: readonly string[] = [
  fill('(', 'SELECT '),
  fill("'',", 'SELECT * FROM entry WHERE id IN (', '1)'),
  fill('-- x\n', '', 'SELECT 1'),
  fill(' OR id = 1', 'SELECT * FROM entry WHERE id = 0'),
];

const doors: readonly ((field: Field) => string)[] = [
  ({ victim }) => `/v1/database/${victim}/call/append`,
  ({ victim }) => `/v1/database/${victim}/mcp`,
  () => '/v1/mcp',
  () => '/v1/identity',
  ({ quarry }) => `/v1/database/${quarry}/call/put`,
];

const largeBodies: Attacker = {
  name: 'large JSON bodies',
  modes: bothModes,
  atOnce: 2,
  pauseMillis: 200,
  attack(field, round) {
    if (round % 6 === 5) {
      const body = statements[Math.floor(round / 6) % statements.length] ?? '';
      return strike(field, `/v1/database/${field.victim}/sql`, { body });
    }
    const door = doors[round % doors.length] ?? (() => '/');
    return strike(field, door(field), { body: bodies[round % bodies.length] ?? '' });
  },
};

/** Writes to a connection what it is given, and resolves when the service ends it, or after a while. */
function raw(
  { url }: Field,
  speak: (write: (text: string | Buffer) => Promise<void>) => Promise<void>,
  stayMillis: number,
): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    const late = setTimeout(() => socket.destroy(), stayMillis);
    socket.on('data', (chunk) => {
      if (answer === '') answer = chunk.toString('latin1').split(' ')[1] ?? 'no status';
    });
    socket.on('error', (error) => {
      if (answer === '') answer = labelOf(error);
    });
    socket.on('close', () => {
      clearTimeout(late);
      resolve(answer === '' ? 'held' : answer);
    });
    const write = (text: string | Buffer) =>
      new Promise<void>((done) => {
        if (socket.destroyed) done();
        else socket.write(text, () => done());
      });
    socket.once('connect', () => void speak(write));
  });
}

const uploads: Attacker = {
  name: 'unfinished uploads of 62 MB',
  modes: bothModes,
  atOnce: 9,
  pauseMillis: 500,
  attack(field, round) {
    const length = 62_000_000;
    const head = `PUT /v1/database/upload-${round % 9}?host_type=Js HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
    const piece = Buffer.alloc(1_000_000, 0x61);
    return raw(
      field,
      async (write) => {
        await write(`${head}Content-Length: ${length}\r\n\r\n`);
        for (let sent = 0; sent < length - 1_000_000; sent += piece.length) await write(piece);
      },
      8_000,
    );
  },
};

const slow: Attacker = {
  name: 'slow headers and bodies',
  modes: bothModes,
  atOnce: 20,
  pauseMillis: 100,
  attack(field, round) {
    const isBody = round % 2 === 0;
    const end = isBody ? '\r\n' : '';
    return raw(
      field,
      async (write) => {
        const path = `/v1/database/${field.victim}/call/append`;
        await write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000\r\n${end}`);
        for (let count = 0; count < 30; count += 1) {
          await write(isBody ? ' ' : `X-${count}: 1\r\n`);
          await pause(300);
        }
      },
      9_000,
    );
  },
};

const unread: Attacker = {
  name: 'answers that nobody reads',
  modes: bothModes,
  atOnce: 6,
  pauseMillis: 300,
  attack({ url, quarry }) {
    const { hostname, port } = new URL(url);
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname);
      socket.pause();
      const statement = 'SELECT * FROM heap';
      const head = `POST /v1/database/${quarry}/sql HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
      const asks = `${head}Content-Length: ${statement.length}\r\n\r\n${statement}`;
      socket.on('connect', () => socket.write(asks.repeat(8)));
      const late = setTimeout(() => socket.destroy(), 3_000);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearTimeout(late);
        resolve('not read');
      });
    });
  },
};

const storms: Attacker = {
  name: 'connections that come and go',
  modes: bothModes,
  atOnce: 20,
  pauseMillis: 10,
  attack: (field, round) =>
    raw(
      field,
      (write) =>
        write(round % 3 === 0 ? '' : round % 3 === 1 ? 'GET / HT' : 'GET /x HTTP/1.1\r\n\r\n'),
      5 + (round % 30),
    ),
};

const scans: Attacker = {
  name: 'anonymous scans, sorts and joins',
  modes: bothModes,
  atOnce: 2,
  pauseMillis: 200,
  attack(field, round) {
    const statement = [
      'SELECT COUNT(*) AS n FROM heap a JOIN heap b ON a.kind = b.kind',
      'SELECT * FROM heap ORDER BY text DESC LIMIT 5',
      "SELECT COUNT(*) AS n FROM heap WHERE text LIKE '%a%b%c%'",
      'SELECT kind, COUNT(*) AS n FROM heap GROUP BY kind ORDER BY n',
      'SELECT COUNT(*) AS n FROM heap a, heap b WHERE a.id <> b.id',
    ][round % 5];
    return strike(field, `/v1/database/${field.quarry}/sql`, { body: statement ?? '' });
  },
};

/** Pages of strangers, whose name points to this machine. None of them may change anything. */
const rebinding: Attacker = {
  name: 'pages of strangers, rebound hosts',
  modes: bothModes,
  atOnce: 2,
  pauseMillis: 300,
  async attack(field, round) {
    const page = 'http://attacker.example';
    const headers: Record<string, string> =
      round % 2 === 0
        ? { origin: page, 'content-type': 'text/plain' }
        : { origin: page, host: 'attacker.example' };
    const path = [
      `/v1/database/${field.victim}/call/which`,
      `/v1/database/${field.victim}/sql`,
      '/v1/identity',
    ][round % 3];
    const status = await strike(field, path ?? '/', {
      headers,
      body: 'SELECT * FROM entry LIMIT 1',
    });
    return status === '200' ? breach : status;
  },
};

export const requests: readonly Attacker[] = [
  largeBodies,
  uploads,
  slow,
  unread,
  storms,
  scans,
  rebinding,
];
