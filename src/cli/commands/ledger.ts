import type { Command } from 'commander';
import { list, number, object, optional, type Shaped, string } from '../../values/json-shape.ts';
import { databasePath, readAnswer } from '../api.ts';
import { onlyDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { safeText } from '../safe-text.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

interface LedgerFlags {
  readonly token?: string;
  readonly identity?: string;
  readonly since?: string;
  readonly limit: string;
  readonly cursor?: string;
  readonly json?: boolean;
}

const pageShape = object({
  entries: list(
    object({
      time: string,
      identity: optional(string),
      token: optional(string),
      for: optional(string),
      action: string,
      what: optional(string),
      result: string,
      rows: optional(number),
      count: optional(number),
      offset: optional(number),
    }),
  ),
  cursor: optional(string),
});

type Page = Shaped<typeof pageShape>;

/** Adds `ledger`, for who did what in a database. */
export function addLedger(program: Command, io: Io): void {
  withYes(withServer(program.command('ledger [database]')))
    .description('print who did what: calls, writes, refused attempts, reads of limited tokens')
    .option('--token <id>', 'only what was done with this limited token')
    .option('--identity <identity>', 'only what this identity did, or tokens that it made')
    .option('--since <time>', 'nothing older: `1h`, or `2026-01-31T12:00:00Z`')
    .option('--limit <n>', 'print at most <n> entries, the newest first', '100')
    .option('--cursor <cursor>', 'go on behind an earlier answer')
    .option('--json', 'print JSON')
    .action(async (word: string | undefined, flags: LedgerFlags, command: Command) => {
      if (!/^[1-9]\d{0,8}$/.test(flags.limit)) {
        throw new CliError('--limit must be a whole number above zero', 2);
      }
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      const text = await api.text('GET', databasePath(database, `/ledger?${queryOf(flags)}`));
      io.out(flags.json === true ? text : ledgerText(readAnswer(text, pageShape)));
    });
}

function queryOf({ token, identity, since, limit, cursor }: LedgerFlags): URLSearchParams {
  const query = new URLSearchParams({ limit });
  for (const [name, value] of Object.entries({ token, identity, since, cursor })) {
    if (value !== undefined) query.set(name, value);
  }
  return query;
}

/** Identities and ids of tokens are cut; `--json` prints them whole. */
function ledgerText({ entries, cursor }: Page): string {
  const more = cursor === undefined ? [] : [`There is more: --cursor ${cursor}`];
  if (entries.length === 0) return ['The ledger has no such entries.', ...more].join('\n');
  const header = ['TIME', 'BY', 'DID', 'WHAT', 'RESULT', 'ROWS', 'OFFSET'];
  const table = drawTable({ header, rows: entries.map(row) });
  return [table, ...more].join('\n');
}

function row(entry: Page['entries'][number]): string[] {
  const { time, identity = '', token, action, what = '', result, rows, offset } = entry;
  const by = token === undefined ? identity.slice(0, 16) : `token ${token.slice(0, 8)}`;
  const did = entry.count === undefined ? action : `${action} ×${entry.count}`;
  return [
    ...[time, by, did, safeText(what), result],
    ...[rows, offset].map((number) => (number === undefined ? '' : String(number))),
  ];
}
