import { limits } from '../limits.ts';
import { CliError } from './io.ts';

/** The lines of an answer as they arrive. */
export async function* logLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let begun: string[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const [end = '', ...later] = piece.split('\n');
    begun.push(end);
    length += end.length;
    if (length > limits.answerBytesMax) throw new CliError('a line of the log has no end');
    const rest = later.pop();
    if (rest === undefined) continue;
    yield begun.join('');
    yield* later;
    begun = [rest];
    length = rest.length;
  }
  const last = begun.join('');
  if (last !== '') yield last;
}
