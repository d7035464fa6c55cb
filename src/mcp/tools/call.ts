import { asData } from '../fence.ts';
import { anyCallOutputSchema, callFunction, positionalArguments } from '../reducer-call.ts';
import { anyItemSchema, databaseArgument, stringArgument, type ToolSource } from '../tool.ts';

/** Runs one reducer, or one procedure. */
export const call: ToolSource = {
  name: 'call',
  title: 'Call reducer',
  description:
    'Invokes a reducer, which commits or rolls back as a whole. `args` is a JSON array of its ' +
    'arguments in parameter order; leave it out for a reducer without parameters. A value that ' +
    'it returns, or throws to refuse the call, follows as JSON. A procedure is called the same ' +
    'way; what it has committed stays, even if it fails.',
  properties: {
    reducer: {
      type: 'string',
      description: 'Name of the reducer or the procedure, as get_schema shows it.',
    },
    args: {
      type: 'array',
      items: anyItemSchema,
      description:
        'Positional arguments, in parameter order. An option is null or {"some": x}, an identity ' +
        '{"__identity__": "0x…"}, a time {"__timestamp_micros_since_unix_epoch__": n}.',
    },
  },
  required: ['reducer'],
  outputSchema: anyCallOutputSchema,
  takesDatabase: true,
  effect: 'writes',
  run: (args, context) => {
    const database = databaseArgument(args, context);
    const name = stringArgument(args, 'reducer');
    const given = { database, name, args: positionalArguments(args) };
    return callFunction(given, context, (data) => asData(context.session, data));
  },
};
