import type { Rights } from '../../database/outcome.ts';
import { identityToHex } from '../../values/identity.ts';
import { type OpenDatabase, openDatabase } from '../open-database.ts';
import type { McpSession } from '../session.ts';
import { objectSchema, optionalStringArgument, stringsSchema, type ToolSource } from '../tool.ts';

/** `all`, `public`, or the names of the only ones that exist for the caller. */
const named = { type: ['string', 'array'], items: { type: 'string' } } as const;

/** Shows the caller's identity and rights. */
export const whoami: ToolSource = {
  name: 'whoami',
  title: 'Who am I',
  description:
    'Your identity and the features of this session; for a database also your role in it, and ' +
    'what you can read, call and write.',
  properties: {},
  required: [],
  outputSchema: objectSchema(
    {
      identity: { type: 'string' },
      anonymous: { type: 'boolean' },
      features: stringsSchema,
    },
    {
      expires: { type: 'string' },
      database: objectSchema(
        {
          identity: { type: 'string' },
          names: stringsSchema,
          standing: { type: 'string' },
          reads: named,
          calls: named,
          sql_writes: { type: 'boolean' },
          previews: { type: 'boolean' },
          read_only: { type: 'boolean' },
        },
        { max_rows: { type: 'integer' } },
      ),
    },
  ),
  takesDatabase: 'optional',
  effect: 'reads',
  run: async (args, context) => {
    const { session } = context;
    const name = session.database ?? optionalStringArgument(args, 'database');
    const self = selfOf(session);
    if (name === undefined) return { texts: [selfText(self)], structured: JSON.stringify(self) };
    const database = standingIn(session, openDatabase(name, context));
    return {
      texts: [`${selfText(self)} ${standingText(database)}`],
      structured: JSON.stringify({ ...self, database }),
    };
  },
};

interface Self {
  readonly identity: string;
  readonly anonymous: boolean;
  readonly features: readonly string[];
  /** Expiry time of the caller's token. */
  readonly expires?: string;
}

function selfOf({ caller, features }: McpSession): Self {
  const { exp } = JSON.parse(caller.payload) as { readonly exp?: number | null };
  const expires = typeof exp !== 'number' || caller.isAnonymous ? undefined : timeOf(exp);
  return {
    identity: identityToHex(caller.identity),
    anonymous: caller.isAnonymous,
    features: [...features],
    ...(expires === undefined ? {} : { expires }),
  };
}

/** Formats a time; `undefined` if an issuer's value is beyond the range of dates. */
function timeOf(seconds: number): string | undefined {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

function selfText({ identity, anonymous, features, expires }: Self): string {
  return [
    anonymous
      ? `You have no token: this request alone is of the identity ${identity}.`
      : `You are ${identity}.`,
    ...(expires === undefined ? [] : [`Your token counts until ${expires}.`]),
    ...(features.length === 0 ? [] : [`This session has ${features.join(', ')}.`]),
  ].join(' ');
}

type Standing = ReturnType<typeof standingIn>;

function standingIn({ host, caller }: McpSession, { database, caller: seen }: OpenDatabase) {
  const { rights } = seen;
  return {
    identity: identityToHex(database.identity),
    names: host.namesOf(database.identity),
    standing:
      caller.capability === undefined
        ? host.access.standing(caller.identity, database)
        : ('token' as const),
    reads: shownNames(rights.tables, rights.readsPrivateTables),
    calls: rights.isReadOnly ? [] : shownNames(rights.reducers, rights.callsPrivateReducers),
    sql_writes: mayWrite(rights),
    previews: rights.previews,
    read_only: rights.isReadOnly,
    ...(rights.writesByPreview === true && { writes_by_preview: true }),
    ...(rights.rowsMax === undefined ? {} : { max_rows: rights.rowsMax }),
  };
}

function mayWrite({ writes, isReadOnly }: Rights): boolean {
  return writes && !isReadOnly;
}

function shownNames(
  only: ReadonlySet<string> | undefined,
  isAll: boolean,
): 'all' | 'public' | readonly string[] {
  if (only !== undefined) return [...only];
  return isAll ? 'all' : 'public';
}

function standingText(database: Standing): string {
  const { identity, standing, reads, calls, max_rows: rowsMax } = database;
  const [name = identity] = database.names;
  return [
    `In ${name} you are ${standingWords[standing]}:`,
    `you read ${listed(reads, 'table')}, call ${listed(calls, 'reducer')},`,
    `and ${database.sql_writes ? 'may' : 'may not'} write by SQL.`,
    ...(database.read_only ? ['Nothing can be changed in this session.'] : []),
    ...(rowsMax === undefined ? [] : [`An answer has at most ${rowsMax} rows.`]),
  ].join(' ');
}

const standingWords: Readonly<Record<Standing['standing'], string>> = {
  stranger: 'a stranger',
  reader: 'a reader',
  developer: 'a developer',
  admin: 'an admin',
  owner: 'the owner',
  operator: 'an operator of the host',
  token: 'the bearer of a limited token',
};

function listed(names: 'all' | 'public' | readonly string[], thing: string): string {
  if (typeof names === 'string') return `${names} ${thing}s`;
  if (names.length === 0) return `no ${thing}s`;
  return `the ${thing}${names.length === 1 ? '' : 's'} ${names.join(', ')}`;
}
