import { databaseArgument } from '../database-argument.ts';
import { asData } from '../fence.ts';
import { anyCallOutputSchema, callFunction, functionArguments } from '../reducer-call.ts';
import { anyItemSchema, optionalStringArgument, stringArgument, type ToolSource } from '../tool.ts';

/** Runs one reducer, or one procedure. */
export const call: ToolSource = {
  name: 'call',
  title: 'Call reducer',
  description:
    'Invokes a reducer, which commits or rolls back as a whole. `args` is a JSON array of its ' +
    'arguments in parameter order, or an object by name; leave it out for a reducer without ' +
    'parameters. The offset of the commit and the value that it returned follow as JSON. A ' +
    'procedure is called the same way; what it has committed stays, even if it fails.',
  properties: {
    reducer: {
      type: 'string',
      description: 'Name of the reducer or the procedure, as get_schema shows it.',
    },
    args: {
      type: 'array',
      items: anyItemSchema,
      description:
        'Positional arguments, in parameter order. An enum is its name, an option the value or ' +
        'null, an identity hex digits, a time RFC 3339, an integer beyond 2^53 a string.',
    },
  },
  moreProperties: {
    idempotency_key: {
      type: 'string',
      description: 'Repeat a call with the same key: it runs once, and you get its first outcome.',
    },
  },
  required: ['reducer'],
  outputSchema: anyCallOutputSchema,
  takesDatabase: true,
  effect: 'writes',
  run: (args, context) => {
    const database = databaseArgument(args, context);
    const name = stringArgument(args, 'reducer');
    const idempotencyKey = optionalStringArgument(args, 'idempotency_key');
    const given = { database, name, args: functionArguments(args), idempotencyKey };
    return callFunction(given, context, (data) => asData(context.session, data));
  },
};
