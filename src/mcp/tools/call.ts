import { present, unreachable } from '../../assert.ts';
import type { CallError } from '../../database/outcome.ts';
import { callWithJson, lifecycleText } from '../../host/json-call.ts';
import { temporaryConnection } from '../../host/temporary-connection.ts';
import { RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';
import type { JsonObject } from '../../values/json.ts';
import { openDatabase } from '../open-database.ts';
import {
  databaseArgument,
  stringArgument,
  type ToolContext,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

/** Runs one reducer. */
export const call: ToolSource = {
  name: 'call',
  title: 'Call reducer',
  description:
    'Invokes a reducer, which commits or rolls back as a whole. `args` is a JSON array of its ' +
    'arguments in parameter order; leave it out for a reducer without parameters. A value that ' +
    'it returns, or refuses with, follows as JSON.',
  properties: {
    reducer: { type: 'string', description: 'Name of the reducer, as get_schema shows it.' },
    args: { type: 'array', description: 'Positional arguments, in parameter order.' },
  },
  required: ['reducer'],
  takesDatabase: true,
  isReadOnly: false,
  run: runCall,
};

async function runCall(args: JsonObject, context: ToolContext): Promise<string> {
  const database = databaseArgument(args, context);
  const reducer = stringArgument(args, 'reducer');
  const positional = args.get('args') ?? [];
  if (!Array.isArray(positional)) {
    throw new RpcError(rpcCode.invalidParams, 'args must be a JSON array');
  }
  const { handle, caller } = openDatabase(database, context);
  const { outcome, json } = await callWithJson(handle, {
    caller,
    connection: temporaryConnection(),
    reducer,
    args: positional,
    confirmed: false,
  });
  if (outcome.kind === 'aborted') {
    throw new ToolFailure(failureText(outcome.error, reducer, json));
  }
  const done = `reducer '${reducer}' committed`;
  return json === undefined ? done : `${done}: ${json}`;
}

function failureText(error: CallError, reducer: string, value: string | undefined): string {
  switch (error.code) {
    case 'reducer.unknown':
      return 'no such reducer';
    case 'reducer.lifecycle':
      return lifecycleText(error.lifecycle);
    case 'arguments.invalid':
      return error.message;
    case 'reducer.refusedWithValue':
      return `reducer '${reducer}' failed: ${present(value, 'the value of the error')}`;
    case 'reducer.crashed':
      return `reducer '${reducer}' failed: The instance encountered a fatal error.`;
    case 'reducer.refused':
    case 'reducer.refusedWithoutValue':
    case 'reducer.overBudget':
      return `reducer '${reducer}' failed: ${error.message}`;
    case 'connection.refused':
      return error.message;
    case 'schema.changed':
      return `reducer '${reducer}' was published anew while it was called; read the schema again`;
    default:
      return unreachable(error);
  }
}
