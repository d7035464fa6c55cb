import { namesHint } from '../../doors/names-hint.ts';
import { shownDefinition } from '../../doors/shown-definition.ts';
import { limits } from '../../limits.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { flatDefinition } from '../../schema/flat-definition.ts';
import type { JsonObject } from '../../values/json.ts';
import { utf8Length } from '../../values/utf8.ts';
import { databaseArgument } from '../database-argument.ts';
import { dataNotes } from '../fence.ts';
import { type OpenDatabase, openDatabase } from '../open-database.ts';
import { type ReadHandle, readRows, rowsArguments } from '../read-rows.ts';
import { schemaAnswer, schemaOverview } from '../schema-answer.ts';
import { notesOn } from '../schema-notes.ts';
import { shownSchema } from '../shown-schema.ts';
import { quoteWideIntegers } from '../structured.ts';
import {
  objectSchema,
  optionalStringArgument,
  type ToolAnswer,
  type ToolContext,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

/** Shows the schema of a database. */
export const getSchema: ToolSource = {
  name: 'get_schema',
  title: 'Get schema',
  description:
    'The schema as JSON: types, tables (private ones too) with columns, keys and row counts, ' +
    'reducers with parameters, procedures. Of a long one only the names: `table` or `reducer` ' +
    'then shows one in full.',
  properties: {},
  moreProperties: {
    table: { type: 'string', description: 'Only this table or view.' },
    reducer: { type: 'string', description: 'Only this reducer or procedure.' },
    format: {
      type: 'string',
      enum: ['raw'],
      description: 'raw: the document of the HTTP endpoint `schema`, version 9.',
    },
  },
  unlisted: rowsArguments,
  required: [],
  outputSchema: objectSchema({
    tables: { type: 'array' },
    reducers: { type: 'array' },
  }),
  takesDatabase: true,
  effect: 'reads',
  run: async (args, context) => {
    const open = openDatabase(databaseArgument(args, context), context);
    const { answer, meta } = await readRows(args, context, open, async (handle) => {
      return { answer: await schemaOf({ ...open, handle }, args, context), offset: undefined };
    });
    return { ...answer, meta };
  },
};

async function schemaOf(
  open: Pick<OpenDatabase, 'caller'> & { readonly handle: ReadHandle },
  args: JsonObject,
  context: ToolContext,
): Promise<ToolAnswer> {
  if (isRaw(args)) return answerOf(context, await shownSchema(open, context.session));
  const definition = flatDefinition((await open.handle.describe()).definition);
  const shown = shownDefinition(definition, context.session.caller, open.caller.rights);
  const notes = await notesOn(open, definition);
  const wanted = wantedParts(shown, args);
  const schema = JSON.stringify(schemaAnswer(wanted, notes));
  if (wanted !== shown || utf8Length(schema) <= limits.agentSchemaBytesMax) {
    return answerOf(context, schema);
  }
  return answerOf(context, JSON.stringify(schemaOverview(shown, notes)), howToSeeMore);
}

const howToSeeMore =
  'These are the names only, because the whole schema is long. To see one in full, give ' +
  'get_schema the argument `table` (a table or view) or `reducer` (a reducer or procedure).';

function answerOf({ session }: ToolContext, schema: string, ...more: string[]): ToolAnswer {
  return {
    texts: [schema, ...dataNotes(session), ...more],
    structured: quoteWideIntegers(schema),
  };
}

function isRaw(args: JsonObject): boolean {
  const format = optionalStringArgument(args, 'format');
  if (format === undefined || format === 'raw') return format === 'raw';
  throw new ToolFailure('format must be "raw", or left out');
}

/** Returns the definition with only the parts asked for; the same if all of it is wanted. */
function wantedParts(shown: ModuleDefinition, args: JsonObject): ModuleDefinition {
  const table = optionalStringArgument(args, 'table');
  const reducer = optionalStringArgument(args, 'reducer');
  if (table === undefined && reducer === undefined) return shown;
  const tables = shown.tables.filter(named(table));
  const views = shown.views.filter(named(table));
  const reducers = shown.reducers.filter(named(reducer));
  const procedures = shown.procedures.filter(named(reducer));
  if (table !== undefined && tables.length + views.length === 0) {
    const all = [...shown.tables, ...shown.views];
    throw new ToolFailure(`no such table: ${table}`, namesHint(table, namesOf(all)));
  }
  if (reducer !== undefined && reducers.length + procedures.length === 0) {
    const all = [...shown.reducers, ...shown.procedures];
    throw new ToolFailure('no such reducer', namesHint(reducer, namesOf(all)));
  }
  return { ...shown, tables, views, reducers, procedures, crons: [], rowLevelSecurity: [] };
}

interface Spelled {
  readonly name: string;
  readonly sourceName: string;
}

function named(given: string | undefined): (one: Spelled) => boolean {
  return ({ name, sourceName }) => name === given || sourceName === given;
}

function namesOf(all: readonly Spelled[]): readonly string[] {
  return all.map(({ name }) => name);
}
