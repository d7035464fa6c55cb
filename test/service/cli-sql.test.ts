import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';

let sandbox: Sandbox;
let service: RunningService;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  await sandbox.ok(['publish', 'kinds', '--module-path', fixture('kinds')]);
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

/** Rows come in no particular order: the tests ask for one at a time. */
const sql = (statement: string, ...flags: string[]) =>
  sandbox.ok(['sql', 'kinds', statement, ...flags]);

describe('sql prints', () => {
  it('[cli 3.2] booleans and numbers plain, as wide as needed', async () => {
    expect(await sql('SELECT * FROM numbers WHERE id = 1')).toBe(
      ' id | yes  | low | huge | half | real \n' +
        '----+------+-----+------+------+------\n' +
        ' 1  | true | -1  | 0    | 1.5  | 0.1  \n',
    );
    const huge = 2n ** 256n - 1n;
    expect(await sql('SELECT * FROM numbers WHERE id = 2')).toBe(
      ` id | yes   | low                  | huge${' '.repeat(75)}| half | real   \n` +
        `----+-------+${'-'.repeat(22)}+${'-'.repeat(80)}+------+--------\n` +
        ` 2  | false | -9223372036854775808 | ${huge} | 2.5  | -1e+21 \n`,
    );
  });

  it('[cli 3.2] strings in quotes, bytes in hex, arrays in brackets', async () => {
    expect(await sql('SELECT * FROM texts WHERE id = 1')).toBe(
      ' id | words | bytes | list \n' +
        '----+-------+-------+------\n' +
        ' 1  | ""    |       | []   \n',
    );
    expect(await sql('SELECT * FROM texts WHERE id = 2')).toBe(
      ' id | words            | bytes    | list         \n' +
        '----+------------------+----------+--------------\n' +
        ' 2  | "say "hi" | äöü" | 0001feff | ["a","b, c"] \n',
    );
  });

  it('[ease 2.4] identities, connections, times and UUIDs', async () => {
    expect(await sql('SELECT who, via FROM names WHERE id = 1')).toBe(
      ` who${' '.repeat(62)}| via${' '.repeat(30)}\n` +
        `${'-'.repeat(66)}+${'-'.repeat(34)}\n` +
        ` ${'c2'.padStart(64, '0')} | ${'ab'.padStart(32, '0')} \n`,
    );
    expect(await sql('SELECT at, took, key FROM names WHERE id = 1')).toBe(
      ` at                   | took | key${' '.repeat(34)}\n` +
        `----------------------+------+${'-'.repeat(38)}\n` +
        ' 1970-01-01T00:00:00Z | 0s   | 00000000-0000-0000-0000-000000000000 \n',
    );
    expect(await sql('SELECT at, took, key FROM names WHERE id = 2')).toBe(
      ` at                          | took   | key${' '.repeat(34)}\n` +
        `-----------------------------+--------+${'-'.repeat(38)}\n` +
        ' 2025-02-17T10:30:45.123456Z | -250us | 01888d6e-5c00-7000-8000-0000000000ff \n',
    );
  });

  it('[ease 2.4] products and sums by the names of their parts', async () => {
    expect(await sql('SELECT spot, mood, maybe, outcome FROM shapes WHERE id = 1')).toBe(
      ' spot                    | mood | maybe | outcome  \n' +
        '-------------------------+------+-------+----------\n' +
        ' {"x":-7,"label":"here"} | calm | 5     | {"ok":1} \n',
    );
    expect(await sql('SELECT mood, maybe, outcome, spots FROM shapes WHERE id = 2')).toBe(
      ' mood                              | maybe | outcome      | spots \n' +
        '-----------------------------------+-------+--------------+-------\n' +
        ' {"named":{"x":-7,"label":"here"}} | null  | {"err":"no"} | []    \n',
    );
  });

  it('[cli 3.2] header and rule alone without rows, and nothing without columns', async () => {
    expect(await sql('SELECT * FROM empty')).toBe(' id | name \n----+------\n');
    expect(await sql("INSERT INTO empty (id, name) VALUES (1, 'x')")).toBe('1 row inserted\n');
    expect(await sql('DELETE FROM empty')).toBe('1 row deleted\n');
    expect(await sql('DELETE FROM empty')).toBe('No rows changed\n');
  });

  it('[cli 3.2] the answer itself as JSON', async () => {
    const text = await sql('SELECT COUNT(*) AS n FROM numbers', '--format', 'json');
    expect(JSON.parse(text)).toMatchObject([
      { rows: [[2]], schema: { elements: [{ name: { some: 'n' } }] } },
    ]);
    expect(await sql('SELECT id FROM numbers WHERE id = 1', '--confirmed', 'false')).toBe(
      ' id \n----\n 1  \n',
    );
  });
});

describe('sql refuses', () => {
  it.each([
    [['sql'], 2, '<query>'],
    [['sql', 'SELECT 1'], 2, '<database>'],
    [['sql', 'kinds', 'SELECT', '*'], 2, 'give one query, in quotes'],
    [['sql', 'kinds', 'SELECT 1', '--format', 'xml'], 2, '--format must be text or json'],
    [['sql', 'kinds', 'SELECT 1', '--confirmed', 'maybe'], 2, '--confirmed must be true or false'],
    [['sql', 'kinds', 'SELECT 1', '--colour'], 2, "unknown option '--colour'"],
    [['sql', 'kinds', 'SELECT * FROM nowhere'], 1, 'no such table'],
    [['sql', 'nobody', 'SELECT * FROM nowhere'], 1, '`nobody` not found'],
    [['sql', 'kinds', 'SELEKT'], 1, 'Error: '],
  ])('[cli 1] %j with exit code %i', async (args, code, words) => {
    const result = await sandbox.run(args);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(words);
  });
});

describe('sql --interactive', () => {
  it('[cli 3.2] answers line by line, goes on after an error, and ends', async () => {
    const input = [
      'SELECT id FROM numbers WHERE id = 1',
      'SELECT * FROM nowhere',
      "INSERT INTO empty (id, name) VALUES (1, 'x')",
      'DELETE FROM empty',
      '',
      '.exit',
      'SELECT * FROM texts',
    ].join('\n');
    const { code, stdout, stderr } = await sandbox.run(['sql', '--interactive', 'kinds'], {
      input,
    });
    expect(code).toBe(0);
    expect(stdout.replace(/\d+\.\d\d ms/g, 't ms')).toBe(
      'kinds>  id \n----\n 1  \n(1 row) [server: t ms]\nRoundtrip time: t ms\n' +
        'kinds> kinds> (0 rows) [inserted: 1, server: t ms]\nRoundtrip time: t ms\n' +
        'kinds> (0 rows) [deleted: 1, server: t ms]\nRoundtrip time: t ms\n' +
        'kinds> kinds> ',
    );
    expect(stderr).toContain('Error: no such table');
  });

  it.each(['exit', 'quit;', '\\q', '.exit'])(
    '[ease 5.2] shows help, and ends by %s',
    async (word) => {
      for (const help of ['help', '\\h']) {
        const input = [help, word, 'SELECT * FROM texts'].join('\n');
        const { stdout, stderr } = await sandbox.run(['sql', '--interactive', 'kinds'], { input });
        expect(stdout).toMatch(/^kinds> Each line is a statement, .*\n(?: {2}.*\n){3}kinds> $/);
        expect(stderr).toBe('');
      }
    },
  );
});
