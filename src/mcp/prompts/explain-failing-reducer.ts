import { fatalErrorText } from '../../database/outcome.ts';
import type { Prompt } from '../../mcp-protocol/prompt.ts';
import { invalidParams } from '../../mcp-protocol/rpc-error.ts';
import type { ReducerDefinition } from '../../schema/definition.ts';
import { fenced } from '../fence.ts';
import { linesOfReducer, mayReadLog } from '../resources/log-lines.ts';
import type { McpSession } from '../session.ts';
import {
  databaseHint,
  fencedLines,
  fencedSchema,
  filled,
  type PromptDatabase,
  promptDatabase,
  userMessage,
  withDatabase,
} from './prompt-text.ts';
import { reducerWords } from './schema-words.ts';

/** Asks an agent to find out why a reducer fails, from its log, the schema and the rows. */
export function explainFailingReducer(session: McpSession): Prompt<McpSession> {
  return {
    name: 'explain_failing_reducer',
    title: 'Explain a failing reducer',
    description: 'Why a reducer fails: what its log says, and which rows and arguments lead to it.',
    arguments: withDatabase(session, [
      { name: 'reducer', description: 'The reducer that fails.', required: true },
      { name: 'error', description: 'The error that a caller got.', required: false },
    ]),
    get: async (args) => {
      const database = await promptDatabase(session, args);
      const { name, definition, notes } = database;
      const reducer = reducerIn(database, args.get('reducer') ?? '');
      const error = filled(args, 'error');
      return userMessage(
        `The reducer \`${reducer.name}\` of the database \`${name}\` fails. Find out why, and ` +
          `what would mend it.${databaseHint(session, name)}`,
        fenced(reducerWords(reducer, definition.typespace, notes)),
        error === undefined ? '' : `A caller got this error:\n${fenced(error)}`,
        await logWords(session, database, reducer.name),
        'What its module declares:',
        fencedSchema(database),
        workWords(session, reducer),
      );
    },
  };
}

function reducerIn({ definition }: PromptDatabase, name: string): ReducerDefinition {
  const found = definition.reducers.find((one) => one.name === name);
  if (found === undefined) throw invalidParams(`no such reducer: ${name}`);
  return found;
}

async function logWords(
  session: McpSession,
  { database }: PromptDatabase,
  reducer: string,
): Promise<string> {
  if (!mayReadLog(session, database)) {
    return (
      'I may not read the log of the module: its owner and those with the role `developer` may. ' +
      'Details of a crash are only there, so ask for them when you need them.'
    );
  }
  const lines = await linesOfReducer(session, database, reducer);
  if (lines.length === 0) return 'The log of the module has no line of this reducer.';
  const newestFirst = fencedLines(lines.toReversed());
  return `The last lines of the reducer in the log, the newest first:\n${newestFirst}`;
}

function workWords({ features }: McpSession, { throws }: ReducerDefinition): string {
  const trial = features.has('preview')
    ? 'Try calls with `preview_call`, which changes nothing.'
    : 'Do not call the reducer to try it, unless I say so: a call that succeeds stays.';
  const kinds =
    'A line of level `Panic` is a crash, with the place in the source; callers see only ' +
    `\`${fatalErrorText}\` A line of level \`Error\` without a place is a ` +
    `refusal, whose text callers see${throws === undefined ? '' : ' as a typed value'}.`;
  return (
    `${kinds} Look with \`sql\` at the rows that the reducer depends on. ${trial} Then say which ` +
    'arguments or rows lead to the failure, whether the module, the caller or the data is wrong, ' +
    'and how to mend it.'
  );
}
