import type { Command } from 'commander';
import { type JsonValue, member, parseJson } from '../../values/json.ts';
import { type Api, databasePath } from '../api.ts';
import { databaseAndEntity } from '../database-argument.ts';
import { indentedJson } from '../indented-json.ts';
import { CliError, type Io } from '../io.ts';
import { elementsOf } from '../json-parts.ts';
import { Session } from '../session.ts';
import { withAnonymous, withServer, withYes } from '../shared-flags.ts';

export function addDescribe(program: Command, io: Io): void {
  withAnonymous(withYes(withServer(program.command('describe [words...]'))))
    .usage('[options] [database] [reducer|table <name>]')
    .description('print the tables and functions of a database, or one table or function')
    .option('--json', 'print the schema document as JSON')
    .action(async (words: string[], flags: { json?: boolean }, command: Command) => {
      const session = new Session(io, command);
      const { chosen, rest } = databaseAndEntity(session, words);
      const api = await session.api(chosen.server);
      const [kind, name] = rest;
      if (flags.json !== true) {
        const document = await api.text('GET', databasePath(chosen.database, '/schema?version=10'));
        // Loaded on demand: other commands do not need definitions and their rules.
        const { describedDocument } = await import('../described-text.ts');
        io.out(describedDocument(document, kind, name));
        return;
      }
      const schema = await newestSchema(api, chosen.database);
      const isWhole = kind === undefined || name === undefined;
      io.out(indentedJson(isWhole ? schema : entityOf(schema, kind, name)));
    });
}

/** The newest schema format that the server supports. Numbers keep all their digits. */
async function newestSchema(api: Api, database: string): Promise<JsonValue> {
  const answer = await api.send('GET', databasePath(database, '/schema?version=10'));
  if (answer.ok) return parseJson(await answer.text());
  return parseJson(await api.text('GET', databasePath(database, '/schema?version=9')));
}

/** A table or reducer by either of its names: the one clients use, or the one in the source. */
function entityOf(schema: JsonValue, kind: string, name: string): JsonValue {
  const isTable = kind === 'table';
  const newer = section(schema, isTable ? 'Tables' : 'Reducers');
  const entities = newer ?? member(schema, isTable ? 'tables' : 'reducers');
  const sourceName = sourceNameOf(schema, isTable ? 'Table' : 'Function', name);
  const found = elementsOf(entities).find((entity) => {
    return (member(entity, 'source_name') ?? member(entity, 'name')) === sourceName;
  });
  if (found === undefined) throw new CliError(`No such ${kind}: ${name}`);
  return found;
}

function sourceNameOf(schema: JsonValue, kind: 'Table' | 'Function', name: string): JsonValue {
  const names = elementsOf(member(section(schema, 'ExplicitNames'), 'entries')).map((entry) => {
    return member(entry, kind);
  });
  const entry = names.find((candidate) => member(candidate, 'canonical_name') === name);
  return member(entry, 'source_name') ?? name;
}

function section(schema: JsonValue, name: string): JsonValue | undefined {
  const found = elementsOf(member(schema, 'sections')).find((candidate) => member(candidate, name));
  return member(found, name);
}
