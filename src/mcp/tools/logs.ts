import { hostSentinel } from '../../database/host-line.ts';
import { limits } from '../../limits.ts';
import { type LogRecord, logRecord } from '../../protocol/log-record.ts';
import type { JsonObject } from '../../values/json.ts';
import { parseAs } from '../../values/json-shape.ts';
import { utf8Length } from '../../values/utf8.ts';
import { databaseArgument } from '../database-argument.ts';
import { fenced } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import { lastLines } from '../resources/log-lines.ts';
import {
  objectSchema,
  optionalIntegerArgument,
  optionalStringArgument,
  type ToolAnswer,
  ToolFailure,
  type ToolSource,
} from '../tool.ts';

/** Worst first; a filter for one level also matches the worse ones. */
const levels = ['panic', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const linesByDefault = 100;

/** Shows the newest lines that a module logged. */
export const logs: ToolSource = {
  name: 'logs',
  title: 'Read logs',
  description:
    "The newest lines of the module's log, from the last day that has any, oldest first: what " +
    'reducers wrote with `console`, and why calls failed. For the owner, developers, and tokens ' +
    'that permit it.',
  properties: {
    lines: {
      type: 'integer',
      minimum: 1,
      maximum: limits.agentLogLinesMax,
      description: `Maximum number of lines, ${linesByDefault} by default.`,
    },
    level: {
      type: 'string',
      enum: levels,
      description: 'Lines of this level or a more severe one.',
    },
    reducer: { type: 'string', description: 'Lines of this reducer.' },
    contains: { type: 'string', description: 'Lines whose message contains this text.' },
  },
  required: [],
  outputSchema: objectSchema({
    lines: {
      type: 'array',
      items: objectSchema(
        { time: { type: 'string' }, level: { enum: levels }, message: { type: 'string' } },
        { reducer: { type: 'string' }, place: { type: 'string' } },
      ),
    },
    more: { type: 'boolean' },
  }),
  takesDatabase: true,
  effect: 'reads',
  run: async (args, context) => {
    const name = databaseArgument(args, context);
    const filter = filterIn(args);
    const range = { minimum: 1, maximum: limits.agentLogLinesMax };
    const linesMax = optionalIntegerArgument(args, 'lines', range) ?? linesByDefault;
    const { database } = openDatabase(name, context);
    const text = await lastLines(context.session, database, limits.agentLogScanLinesMax);
    const lines = text.split('\n').filter((line) => line !== '');
    const found = lines.map((line) => shown(parseAs(line, logRecord))).filter(filter);
    return answerOf(newest(found, linesMax), found.length);
  },
};

interface ShownLine {
  readonly time: string;
  readonly level: string;
  readonly reducer?: string;
  readonly place?: string;
  readonly message: string;
}

function shown(line: LogRecord): ShownLine {
  const { filename, function: reducer, line_number: number } = line;
  return {
    time: new Date(line.ts / 1000).toISOString(),
    level: line.level.toLowerCase(),
    ...(reducer === undefined || reducer === hostSentinel ? {} : { reducer }),
    ...(filename === undefined || filename === hostSentinel
      ? {}
      : { place: number === undefined ? filename : `${filename}:${number}` }),
    message: line.message,
  };
}

function filterIn(args: JsonObject): (line: ShownLine) => boolean {
  const worst = optionalStringArgument(args, 'level');
  const reducer = optionalStringArgument(args, 'reducer');
  const words = optionalStringArgument(args, 'contains') ?? '';
  const rank = worst === undefined ? levels.length : rankOf(worst);
  if (rank < 0) throw new ToolFailure(`level must be one of ${levels.join(', ')}`);
  return (line) =>
    rankOf(line.level) <= rank &&
    (reducer === undefined || line.reducer === reducer) &&
    line.message.includes(words);
}

function rankOf(level: string): number {
  return (levels as readonly string[]).indexOf(level);
}

/** Returns the last lines, up to `countMax` and the size of a result. */
function newest(lines: readonly ShownLine[], countMax: number): readonly ShownLine[] {
  const last = lines.slice(-countMax);
  let bytes = 0;
  // Counted from the newest line, which is shown even if it is too long.
  const tooOld = last.findLastIndex(({ message }, at) => {
    bytes += utf8Length(message);
    return bytes > limits.agentTextBytesMax && at < last.length - 1;
  });
  return last.slice(tooOld + 1);
}

const lineEnds = /\r\n?|[\n\v\f\x85\u2028\u2029]/g;

function answerOf(lines: readonly ShownLine[], foundCount: number): ToolAnswer {
  const more = lines.length < foundCount;
  const structured = JSON.stringify({ lines, more });
  if (lines.length === 0) return { texts: ['No lines.'], structured };
  const texts = lines.map(({ time, level, reducer = '-', message }) => {
    // Indented, so that a message cannot pass for lines of other reducers.
    return `${time} ${level} ${reducer}: ${message.replace(lineEnds, '\n  ')}`;
  });
  const older = `These are the newest ${lines.length} of ${foundCount} lines.`;
  return { texts: [fenced(texts.join('\n')), ...(more ? [older] : [])], structured };
}
