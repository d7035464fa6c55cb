import { objectSchema, type ToolSource } from '../tool.ts';

/** Echoes the caller's message, to show that the server responds. */
export const ping: ToolSource = {
  name: 'ping',
  title: 'Ping',
  description: 'Health check. Answers "pong", followed by the message if one is given.',
  properties: { message: { type: 'string' } },
  required: [],
  outputSchema: objectSchema({ message: { type: 'string' } }),
  takesDatabase: false,
  effect: 'reads',
  run: async (args) => {
    const given = args.get('message');
    const message = typeof given === 'string' ? `pong: ${given}` : 'pong';
    return { texts: [message], structured: JSON.stringify({ message }) };
  },
};
