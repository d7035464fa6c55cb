import { ledgerEntriesUnasked, ledgerPageJson, readLedgerAsk } from '../../doors/ledger.ts';
import { limits } from '../../limits.ts';
import { databaseArgument } from '../database-argument.ts';
import { fenced } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import {
  objectSchema,
  optionalIntegerArgument,
  optionalStringArgument,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

/** Shows who did what in a database. */
export const listActivityTool: ToolSource = {
  name: 'list_activity',
  title: 'List activity',
  description:
    'Who did what, newest first: calls, writes, refused attempts, and counts of what limited ' +
    'tokens read, each with caller, rows touched and offset. For the owner.',
  properties: {
    token: { type: 'string', description: 'Id of a limited token.' },
    identity: { type: 'string', description: 'Of the caller, or of the maker of its token.' },
    since: { type: 'string', description: 'Such as 1h, or 2026-01-31T12:00:00Z.' },
    limit: { type: 'integer', minimum: 1, maximum: limits.ledgerPageEntriesMax },
    cursor: { type: 'string', description: 'Of an earlier answer: what is older.' },
  },
  required: [],
  outputSchema: objectSchema(
    { entries: { type: 'array', items: { type: 'object' } } },
    { cursor: { type: 'string' } },
  ),
  takesDatabase: true,
  effect: 'reads',
  run: async (args, context) => {
    const name = databaseArgument(args, context);
    const range = { minimum: 1, maximum: limits.ledgerPageEntriesMax };
    const read = readLedgerAsk(
      {
        token: optionalStringArgument(args, 'token'),
        identity: optionalStringArgument(args, 'identity'),
        since: optionalStringArgument(args, 'since'),
        limit: optionalIntegerArgument(args, 'limit', range) ?? ledgerEntriesUnasked,
        cursor: optionalStringArgument(args, 'cursor'),
      },
      BigInt(Date.now()) * 1_000n,
    );
    const { database } = openDatabase(name, context);
    const { host, caller } = context.session;
    host.access.require(caller, database, 'viewLedger');
    if ('fault' in read) throw new ToolFailure(read.fault);
    const page = ledgerPageJson(await host.ledger.page(caller, database, read.ask));
    const structured = JSON.stringify(page);
    return { texts: [fenced(structured)], structured };
  },
};
