import { namesHint } from '../doors/names-hint.ts';
import { limits } from '../limits.ts';
import type { JsonObject } from '../values/json.ts';
import { utf8Length } from '../values/utf8.ts';
import { fenced } from './fence.ts';
import { objectSchema, type ToolAnswer, ToolFailure, type ToolSource } from './tool.ts';

export const describeReducersName = 'describe_reducers';

/** The reducers and procedures of a database, each as the tool that would run it alone. */
export interface Described {
  readonly names: readonly string[];
  toolOf(name: string): ToolSource;
}

/** One tool in place of many: describes reducers and procedures, which `call` runs. */
export function describeReducersTool({ names, toolOf }: Described): ToolSource {
  return {
    name: describeReducersName,
    title: 'Describe reducers',
    description:
      `How to call the ${names.length} reducers and procedures of this database: what each does, ` +
      'and a JSON schema of its arguments by name. Without `reducers`, the names of all. call ' +
      'runs them.',
    properties: {
      reducers: { type: 'array', items: { type: 'string' }, description: 'Names.' },
    },
    required: [],
    outputSchema: objectSchema({}, { names: { type: 'array', items: { type: 'string' } } }),
    takesDatabase: true,
    effect: 'reads',
    run: async (args) => {
      const asked = namesIn(args);
      if (asked.length === 0) return answerOf(JSON.stringify({ names }));
      const unknown = asked.find((name) => !names.includes(name));
      if (unknown !== undefined)
        throw new ToolFailure('no such reducer', namesHint(unknown, names));
      return answerOf(...describedIn(asked, toolOf));
    },
  };
}

function namesIn(args: JsonObject): readonly string[] {
  const given = args.get('reducers') ?? [];
  const names = [given].flat();
  if (names.every((name) => typeof name === 'string')) return names;
  throw new ToolFailure('reducers must be a list of names');
}

/** Returns the descriptions as JSON, as many as fit, and a remark about the rest. */
function describedIn(asked: readonly string[], toolOf: Described['toolOf']): [string, ...string[]] {
  const texts: string[] = [];
  let bytes = 0;
  for (const name of new Set(asked)) {
    const { description, inputSchema } = toolOf(name);
    const said = JSON.stringify({ description, arguments: inputSchema });
    const text = `${JSON.stringify(name)}:${said}`;
    bytes += utf8Length(text);
    if (texts.length > 0 && bytes > limits.agentTextBytesUnasked) {
      return [`{${texts.join(',')}}`, `Too long to show more: ask for \`${name}\` and on again.`];
    }
    texts.push(text);
  }
  return [`{${texts.join(',')}}`];
}

function answerOf(json: string, ...remarks: readonly string[]): ToolAnswer {
  return { texts: [fenced(json), ...remarks], structured: json };
}
