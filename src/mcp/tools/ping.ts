import type { ToolSource } from '../tool.ts';

/** Says that the server is there, with the caller's message. */
export const ping: ToolSource = {
  name: 'ping',
  title: 'Ping',
  description: 'Health check. Answers "pong", followed by the message if one is given.',
  properties: { message: { type: 'string' } },
  required: [],
  takesDatabase: false,
  isReadOnly: true,
  run: async (args) => {
    const message = args.get('message');
    return typeof message === 'string' ? `pong: ${message}` : 'pong';
  },
};
