import type { Command } from 'commander';
import { nullable, number, object, record } from '../../values/json-shape.ts';
import { type Api, databasePath } from '../api.ts';
import { CliError, type Io } from '../io.ts';
import { identityOfToken, Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';

interface QuotaFlags {
  readonly identity?: string;
  readonly set?: readonly string[];
}

const shownQuota = object({
  used: number,
  /** `null`: any amount. */
  limit: nullable(number),
});

/** Adds `quota`, which shows usage and limits of an identity or a database; operators set them. */
export function addQuota(program: Command, io: Io): void {
  withYes(withServer(program.command('quota [database]')))
    .description('show usage and limits, yours or those of a database; operators can change limits')
    .option('--identity <identity>', 'the quotas of another identity (operators only)')
    .option(
      '--set <name=amount>',
      'a count, bytes such as 64MiB, `any` or `default` (repeatable, operators only)',
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .action(async (database: string | undefined, flags: QuotaFlags, command: Command) => {
      const { identity: other, set = [] } = flags;
      if (database !== undefined && other !== undefined) {
        throw new CliError('Give a database or --identity, not both.', 2);
      }
      const session = new Session(io, command);
      const api = await session.apiWithIdentity();
      const path =
        database === undefined
          ? `/v1/quota/${other ?? ownIdentity(api)}`
          : databasePath(database, '/quota');
      if (set.length > 0) {
        await api.text('PUT', path, {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(Object.fromEntries(set.map(amountOf))),
        });
      }
      const { quotas } = await api.json('GET', path, object({ quotas: record(shownQuota) }));
      const rows = Object.entries(quotas).map(([name, { used, limit }]) => [
        name,
        amountText(name, used),
        limit === null ? 'any' : amountText(name, limit),
      ]);
      io.out(drawTable({ header: ['QUOTA', 'USED', 'LIMIT'], rows }));
    });
}

/** The user's own identity. A token exists: a command that needs one has logged in. */
function ownIdentity({ token }: Api): string {
  return identityOfToken(token ?? '');
}

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Parses `row-bytes=64MiB` into the form that the service takes. */
function amountOf(given: string): [string, number | null | 'default'] {
  const [, name = '', digits, unit = '', word] =
    /^([a-z-]+)=(?:(\d+)(KiB|MiB|GiB)?|(any|default))$/.exec(given) ?? [];
  if (word === 'any') return [name, null];
  if (word === 'default') return [name, word];
  if (digits !== undefined) return [name, Number(digits) * (unitBytes[unit] ?? 1)];
  throw new CliError(`--set: \`${given}\` is not a quota such as row-bytes=64MiB`, 2);
}

function amountText(name: string, amount: number): string {
  return name.endsWith('-bytes') ? `${amount} bytes` : String(amount);
}
