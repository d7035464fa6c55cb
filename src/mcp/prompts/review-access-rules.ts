import type { Prompt } from '../../mcp-protocol/prompt.ts';
import { identityToHex } from '../../values/identity.ts';
import type { McpSession } from '../session.ts';
import {
  databaseHint,
  fencedLines,
  fencedSchema,
  type PromptDatabase,
  promptDatabase,
  userMessage,
  withDatabase,
} from './prompt-text.ts';

/** Asks an agent to find what strangers can read or call but should not. */
export function reviewAccessRules(session: McpSession): Prompt<McpSession> {
  return {
    name: 'review_access_rules',
    title: 'Review access rules',
    description: 'Who may read and call what in a database, and what is open that should not be.',
    arguments: withDatabase(session, []),
    get: async (args) => {
      const database = await promptDatabase(session, args);
      const { name } = database;
      return userMessage(
        `Review who may do what in the database \`${name}\`, and tell me what is open that ` +
          `should not be.${databaseHint(session, name)}`,
        'What its module declares:',
        fencedSchema(database),
        rulesWords,
        standingWords(session, database),
        'Go through it table by table and reducer by reducer:\n' +
          '- Which public tables and views hold what only some should see: secrets, mail ' +
          'addresses, messages between people? Which of them have no row filter?\n' +
          '- Which filters let more through than they seem to: through an OR, a join, a column ' +
          'that callers can set?\n' +
          '- Which reducers can be called by strangers and change rows of others? Their code is ' +
          'not here: say what it has to check, such as the caller against an owner column.\n' +
          '- Which roles and tokens give more than they have to, or last too long?\n' +
          'Where you can read the rows, look with `sql` whether the data bears it out; change ' +
          'nothing. End with a list, the most urgent first, and for each what to change.',
      );
    },
  };
}

const rulesWords =
  'The rules: anyone, logged in or not, can read public tables and views and call public ' +
  'reducers. A row filter is a query: of its table, a caller sees the rows that at least one ' +
  'filter gives, where `:sender` is the caller; a public table without one shows all rows to ' +
  'everyone. Private tables, and all rows, are for the owner and the roles `reader`, ' +
  '`developer` and `admin`. SQL writes need the owner or an `admin`.';

/** Describes roles and tokens, within the caller's rights. */
function standingWords(session: McpSession, { database }: PromptDatabase): string {
  const { host, caller } = session;
  const standing = host.access.standing(caller.identity, database);
  const own =
    caller.capability === undefined
      ? `I come as: ${standing}.`
      : 'I come with a limited token, and am shown what it may use.';
  if (!host.access.allows(caller, database, 'viewGrants')) {
    return `${own} Roles and tokens are shown to the owner and to admins only.`;
  }
  const roles = host.grants
    .list(caller, database)
    .map(({ identity, role }) => `${role}: ${identityToHex(identity)}`);
  const tokens = host.grants
    .tokens(caller, database)
    .map(({ id, capability, untilMicros }) => `${id}: ${capability}, ${untilWords(untilMicros)}`);
  const listed = (what: string, lines: readonly string[]) =>
    lines.length === 0 ? `No ${what} are given.` : `The ${what}:\n${fencedLines(lines)}`;
  return [own, listed('roles', roles), listed('limited tokens', tokens)].join('\n');
}

function untilWords(micros: bigint): string {
  if (micros === 0n) return 'does not expire';
  return `expires ${new Date(Number(micros / 1000n)).toISOString()}`;
}
