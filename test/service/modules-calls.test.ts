import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;
let guest: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  guest = await running.person();
  expect(await running.publish('lodge', 'lodge', owner)).toMatchObject({ status: 200 });
});
afterAll(() => running.stop());

type Line = Readonly<Record<string, unknown>>;

const call = (reducer: string, args: unknown = [], as: Person = guest) =>
  running.call('lodge', reducer, args, as);

async function allLines(): Promise<Line[]> {
  const { text } = await running.ask('GET', '/v1/database/lodge/logs', { as: owner });
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The lines of the log that a call leaves, and its answer. */
async function linesOf(reducer: string, args: unknown = []) {
  const before = (await allLines()).length;
  const { status, text } = await call(reducer, args);
  return { status, text, lines: (await allLines()).slice(before) };
}

const messagesOf = async (reducer: string) =>
  (await linesOf(reducer)).lines.map(({ message }) => message);

const seen = () => running.rows('lodge', 'SELECT what, who, link FROM seen', owner);

describe('the context of a call', () => {
  it('[module-sdk 7] names the caller, the database and the time, which stands still', async () => {
    const [line] = await messagesOf('context');
    const told = JSON.parse(String(line));
    const { text } = await running.ask('GET', '/v1/database/lodge/identity');
    expect(told).toMatchObject({
      ...{ sender: guest.identity, database: text, sameIdentity: true },
      ...{ isFixed: true, agrees: true, isInternal: false, hasJWT: true, isLoadTimeEarlier: true },
    });
    expect(Math.abs(Number(told.micros) / 1000 - Date.now())).toBeLessThan(60_000);
  });

  it('[module-sdk 7] tells the claims of the token', async () => {
    const [line] = await messagesOf('claims');
    const [, payload = ''] = guest.token.split('.');
    const { iss, sub } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    expect(JSON.parse(String(line))).toMatchObject({
      ...{ issuer: iss, subject: sub, audience: expect.any(Array) },
      ...{ isSender: true, isParsed: true },
    });
  });

  it('[module-sdk 7.1] draws numbers and ids that are good, and new in each call', async () => {
    for (let n = 0; n < 3; n += 1) expect(await messagesOf('draw')).toEqual(['V4 true true 6 0']);
    const rows = await running.rows('lodge', 'SELECT text FROM drawn');
    const words = rows.flatMap(([text]) => String(text).split(' '));
    expect(words).toHaveLength(15);
    expect(new Set(words).size).toBe(15);
  });

  it('[abi 2, 3.6, module-sdk 7] is its own; globals of the module stay, those of a machine are absent', async () => {
    expect(await messagesOf('globals')).toEqual(['1 false', 'true number', '', 'Zoë 🐈']);
    expect(await messagesOf('globals')).toEqual(['2 false', 'true number', '', 'Zoë 🐈']);
  });
});

describe('lifecycle reducers', () => {
  it('[abi 10.2, 10.4] run once at birth for the owner, and around each request', async () => {
    const [first] = await seen();
    expect(first).toEqual(['init', [hexOf(owner)], 'none']);
    const before = (await seen()).length;
    await call('context');
    const after = (await seen()).slice(before);
    // The look at the rows before was a request, too: it left after it had looked.
    const mine = after.filter(([, who]) => String(who) === hexOf(guest));
    expect(mine.map(([what]) => what)).toEqual(['arrived', 'called', 'left']);
    const links = new Set(mine.map(([, , link]) => link));
    expect(links.size).toBe(1);
    expect([...links][0]).toMatch(/^[0-9a-f]{32}$/);
  });

  it('[abi 10.4] that refuse keep the caller out of calls and SQL, in their words', async () => {
    const stranger = await running.person();
    expect(await call('shut', [], stranger)).toMatchObject({ status: 200 });
    const refused = { status: 403, text: 'closed for you' };
    expect(await call('context', [], stranger)).toMatchObject(refused);
    expect(await running.sql('lodge', 'SELECT * FROM drawn', stranger)).toMatchObject(refused);
    expect(await call('context')).toMatchObject({ status: 200 });
  });

  it.each([
    ['born', 'Init'],
    ['guest_arrived', 'OnConnect'],
    ['left', 'OnDisconnect'],
  ])('[ABI 10.1] %s cannot be called', async (name, event) => {
    expect(await call(name, [], owner)).toMatchObject({
      status: 400,
      text: `can't directly call special ${event} lifecycle reducer`,
    });
  });
});

describe('a call that fails', () => {
  const fatal = 'The instance encountered a fatal error.';

  it('[module-sdk 9] with SenderError answers its words, leaves its lines and no rows', async () => {
    const { status, text, lines } = await linesOf('write_and_refuse', ['no room']);
    expect({ status, text }).toEqual({ status: 530, text: 'no room' });
    expect(lines).toMatchObject([
      { level: 'Info', message: 'a line of a refused call' },
      { level: 'Info', message: 'no room', function: 'write_and_refuse' },
    ]);
    expect(await call('subclass')).toMatchObject({ status: 530, text: 'by a subclass' });
    expect((await seen()).filter(([what]) => what === 'never seen')).toEqual([]);
  });

  it.each([
    ['string', 'Uncaught only text', ''],
    ['undefined', 'Uncaught undefined', ''],
    [
      'null property',
      "Uncaught TypeError: Cannot read properties of null (reading 'x')",
      'throwIt',
    ],
    ['deep', 'Uncaught RangeError: Maximum call stack size exceeded', 'recurse'],
    [
      'host',
      'Uncaught UniqueAlreadyExists: Value with given unique identifier already exists ' +
        '(table `seen`, column `id`)',
      'throwIt',
    ],
    ['a range', 'Uncaught RangeError: a range', 'throwIt'],
  ])(
    '[abi 3.5] by throwing %s says little to the caller and all to the log',
    async (kind, message, name) => {
      const { status, text, lines } = await linesOf('throw_it', [kind]);
      expect({ status, text }).toEqual({ status: 530, text: fatal });
      expect(lines).toMatchObject([{ level: 'Panic', function: 'throw_it', message }]);
      const trace = lines[0]?.trace as Line[];
      const own = trace.filter(({ module_name: place }) =>
        String(place).startsWith('src/index.ts:'),
      );
      expect(own.some(({ func_name: frame }) => frame === name)).toBe(name !== '');
      expect((await seen()).filter(([what]) => what === 'never seen')).toEqual([]);
    },
  );

  it('[tables 3.3] by returning a promise is a crash; an expression may end a reducer', async () => {
    const { status, text, lines } = await linesOf('later');
    expect({ status, text }).toEqual({ status: 530, text: fatal });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.message).toContain(
      'TypeError: Reducer returned a value other than `undefined`',
    );
    expect(await call('expression')).toMatchObject({ status: 200, text: '' });
    expect((await seen()).filter(([what]) => what === 'never seen')).toEqual([]);
  });
});

describe('the console', () => {
  it('[module-sdk 12] writes lines by level, with function, file and line', async () => {
    const { lines } = await linesOf('levels');
    expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'Info log { a: 1 } [ 1n ] and text',
      'Info info',
      'Warn warn',
      'Error error',
      'Debug debug',
      'Trace trace',
      'Info table',
      'Error Assertion failed assert',
      "Warn Timer 't' already exists.",
      'Info t so far',
      expect.stringMatching(/^Info Timing span "t": [\d.]+(?:ns|µs|ms|s)$/),
      "Warn Timer 't' does not exist.",
      'Info %s plain',
      'Info from a helper',
    ]);
    for (const line of lines) {
      const order = ['level', 'ts', 'filename', 'line_number', 'function', 'message'];
      expect(Object.keys(line)).toEqual(order);
      expect(line.function).toBe('levels');
    }
    expect(lines.at(-1)).toMatchObject({ filename: 'src/helper.ts', line_number: 3 });
    const numbers = lines.slice(0, -1).map(({ line_number: number }) => Number(number));
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(lines[0]?.filename).toBe('src/index.ts');
  });
});

/** An identity as rows show it, without leading zeros. */
const hexOf = ({ identity }: Person) => `0x${identity.replace(/^0+/, '')}`;
