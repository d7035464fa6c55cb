import type { Random } from '../../../src/testing/random.ts';
import type { Sent } from '../raw-http.ts';
import { spoiled } from './http-mutations.ts';
import type { Draft } from './http-requests.ts';

/** A way to put requests on the wire. */
export interface Framing {
  readonly name: string;
  readonly frame: (draft: Draft, random: Random) => Sent;
}

/** How long an answer may take that must come, on a machine that has much else to do. */
const answerMillisMax = 10_000;
/** How long is waited for an answer that need not come. */
const quietMillis = 60;

/** The request as bytes, with the length of its body said in a header. */
export function written(draft: Draft): Buffer {
  const says = draft.headers.some(([name]) => name === 'Transfer-Encoding');
  const length: [string, string][] = says ? [] : [['Content-Length', String(draft.body.length)]];
  return Buffer.concat([head(draft, length), draft.body]);
}

function head({ method, target, headers }: Draft, more: readonly [string, string][]): Buffer {
  const lines = [...headers, ...more].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}

function whole(...pieces: readonly Buffer[]): Sent {
  return { pieces, answersMin: 1, quietMillis: answerMillisMax };
}

function part(...pieces: readonly Buffer[]): Sent {
  return { pieces, answersMin: 1, quietMillis };
}

function chunked(body: Buffer, random: Random): Buffer {
  const size = body.length.toString(16);
  const end = random.pick(['0\r\n\r\n', '0\r\nX-Trailer: y\r\n\r\n', '0\r\n', '']);
  const first = random.pick([
    ...[
      `${size}\r\n`,
      `${size};ext="x"\r\n`,
      `0${size}\r\n`,
      `${size}\n`,
      `-${size}\r\n`,
      'zz\r\n',
    ],
    ...['ffffffffffffffff\r\n', '7fffffff\r\n', ` ${size}\r\n`, `${size}${';x'.repeat(9_000)}\r\n`],
  ]);
  return Buffer.concat([Buffer.from(first), body, Buffer.from(`\r\n${end}`)]);
}

/** Cut into pieces at random places. */
function cut(bytes: Buffer, count: number, random: Random): Buffer[] {
  const marks = Array.from({ length: count - 1 }, () => random.below(bytes.length + 1));
  const ends = [...marks.sort((one, other) => one - other), bytes.length];
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
}

/** The last one hides a second request behind two claims of where the first one ends. */
export const smuggling = 'smuggling';

/** As it should be. */
export const inOrder: Framing = { name: 'whole', frame: (draft) => whole(written(draft)) };

export const framings: readonly Framing[] = [
  {
    name: 'in pieces',
    frame: (draft, random) => {
      const pieces = cut(written(draft), random.between(2, 6), random);
      return { pieces, pauseMillis: random.below(15), answersMin: 1, quietMillis: answerMillisMax };
    },
  },
  {
    name: 'truncated',
    frame: (draft, random) => {
      const bytes = written(draft);
      return part(bytes.subarray(0, random.below(bytes.length)));
    },
  },
  {
    name: 'spoiled',
    frame: (draft, random) => part(spoiled(written(draft), random)),
  },
  {
    name: 'chunked',
    frame: (draft, random) => {
      const coding = random.pick(['chunked', 'Chunked', 'gzip, chunked', 'identity', 'chunked, x']);
      return part(head(draft, [['Transfer-Encoding', coding]]), chunked(draft.body, random));
    },
  },
  {
    name: 'wrong length',
    frame: (draft, random) => {
      const length = random.pick([
        ...['-1', '1e3', '0x10', '+5', '5, 5', '99999999999999999999', '', ' ', '3', '000', 'é'],
      ]);
      return part(head(draft, [['Content-Length', length]]), draft.body);
    },
  },
  {
    name: 'pipelined',
    frame: (draft, random) => {
      const count = random.between(2, 8);
      return part(Buffer.concat(Array.from({ length: count }, () => written(draft))));
    },
  },
  {
    name: 'other versions',
    frame: (draft, random) => {
      const version = random.pick([
        'HTTP/1.0',
        'HTTP/0.9',
        'HTTP/2.0',
        'http/1.1',
        'HTTP/1.11',
        '',
      ]);
      const text = written(draft).toString('latin1').replace('HTTP/1.1', version);
      return part(Buffer.from(random.chance(0.3) ? text.replace(/\r\n/g, '\n') : text, 'latin1'));
    },
  },
  {
    name: 'no HTTP',
    frame: (_, random) => {
      const bytes = random.pick([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        Buffer.from('16030100c8010000c40303', 'hex'),
        Buffer.from('\r\n\r\n\r\n'),
        Buffer.from(random.bytes(random.below(500))),
        Buffer.alloc(0),
        Buffer.alloc(20_000, 'A'),
      ]);
      return part(bytes);
    },
  },
  {
    name: smuggling,
    frame: (draft, random) => {
      const hidden = 'GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n';
      const body = Buffer.from(`0\r\n\r\n${hidden}`);
      const claims: [string, string][] = [
        ['Content-Length', String(random.chance(0.5) ? body.length : 4)],
        ['Transfer-Encoding', random.pick(['chunked', ' chunked', 'chunked\u000b', 'x, chunked'])],
      ];
      const ordered = random.chance(0.5) ? claims : claims.reverse();
      return part(head({ ...draft, method: 'POST', headers: [['Host', 'x']] }, ordered), body);
    },
  },
];
