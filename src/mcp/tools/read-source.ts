import { moduleSource, sourcePart, type WrittenSourceAsk } from '../../doors/module-source.ts';
import type { JsonObject } from '../../values/json.ts';
import { answerBytes } from '../caps.ts';
import { databaseArgument } from '../database-argument.ts';
import { fenced } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import { indexPage, placeOf, type SourcePlace, sourcePlace, textPage } from '../source-pages.ts';
import {
  objectSchema,
  optionalStringArgument,
  stringsSchema,
  type ToolAnswer,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

type Source = Awaited<ReturnType<typeof moduleSource>>;

/** Shows the module as its author wrote it. */
export const readSourceTool: ToolSource = {
  name: 'read_source',
  title: 'Read source',
  description:
    "The module's source as published: one function, or lines of a file; without arguments, what " +
    'there is. For the owner, developers, and tokens that permit it.',
  properties: {
    function: { type: 'string', description: 'Reducer, procedure, view or handler.' },
    file: { type: 'string' },
    lines: { type: 'string', description: 'Of the file: 12, 12-40 or 12-.' },
    cursor: { type: 'string', description: 'Of an earlier answer: what follows.' },
  },
  required: [],
  outputSchema: objectSchema(
    {},
    {
      kind: { enum: ['sources', 'bundle'] },
      files: { type: 'array', items: { type: 'object' } },
      functions: { type: 'array', items: { type: 'object' } },
      left_out: stringsSchema,
      file: { type: 'string' },
      lines: { type: 'string' },
      of: { type: 'integer' },
      text: { type: 'string' },
      cursor: { type: 'string' },
    },
  ),
  takesDatabase: true,
  effect: 'reads',
  run: async (args, context) => {
    const name = databaseArgument(args, context);
    const ask = {
      file: optionalStringArgument(args, 'file'),
      function: optionalStringArgument(args, 'function'),
      lines: optionalStringArgument(args, 'lines'),
    };
    const { database, handle } = openDatabase(name, context);
    const { session } = context;
    session.host.access.require(session.caller, database, 'viewSource');
    const source = await moduleSource(handle);
    const place = placeIn(source, args, ask);
    const bytesMax = answerBytes(session);
    return place.kind === 'index'
      ? indexAnswer(source, place.from, bytesMax)
      : textAnswer(source, place, bytesMax);
  },
};

function placeIn(source: Source, args: JsonObject, ask: WrittenSourceAsk): SourcePlace {
  const cursor = optionalStringArgument(args, 'cursor');
  if (cursor !== undefined) {
    const place = sourcePlace(source, cursor);
    if (place !== undefined) return place;
    throw new ToolFailure(
      'unknown cursor: it is of another program or database; ask again without `cursor`',
    );
  }
  if (Object.values(ask).every((one) => one === undefined)) return { kind: 'index', from: 0 };
  const part = sourcePart(source, ask);
  if ('kind' in part) throw new ToolFailure(part.message, part.hint);
  return placeOf(source, part);
}

function indexAnswer(source: Source, from: number, bytesMax: number): ToolAnswer {
  const { shown, cursor } = indexPage(source, from, bytesMax);
  const more = cursor === undefined ? [] : [`There is more: \`cursor\` "${cursor}".`];
  const isBundle = source.kind === 'bundle';
  const texts = [fenced(JSON.stringify(shown)), ...(isBundle ? [bundleNote] : []), ...more];
  return { texts, structured: JSON.stringify({ ...shown, ...(cursor && { cursor }) }) };
}

const bundleNote = 'It was published without its sources: there is the text of its program alone.';

function textAnswer(
  source: Source,
  place: Extract<SourcePlace, { kind: 'text' }>,
  bytesMax: number,
): ToolAnswer {
  const { shown, cursor } = textPage(source, place, bytesMax);
  const { file, lines, of, text } = shown;
  // The publisher has chosen the name of the file, too.
  const code = fenced(`${file}, lines ${lines} of ${of}:\n${text.replace(/\n$/, '')}`);
  const more = cursor === undefined ? [] : [`It goes on: \`cursor\` "${cursor}".`];
  return {
    texts: [code, ...more],
    structured: JSON.stringify({ ...shown, ...(cursor && { cursor }) }),
  };
}
