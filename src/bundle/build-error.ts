import type { Message } from 'esbuild';

/** The module's sources cannot be built into a program; the message is for their author. */
export class BuildError extends Error {
  override readonly name = 'BuildError';
  /** True if imports of another server's library have to change first: types say no more. */
  readonly isMovedImport: boolean;

  constructor(message: string, options?: ErrorOptions, isMovedImport = false) {
    super(message, options);
    this.isMovedImport = isMovedImport;
  }
}

/**
 * Formats each message as `src/index.ts:3:8: Could not resolve "x"`, the source line with a mark
 * below the place, and its note, if any.
 */
export function renderMessages(messages: readonly Message[]): string {
  return messages.map(renderMessage).join('\n\n');
}

function renderMessage(message: Message): string {
  const { location, text, notes } = message;
  const lines = [location === null ? text : `${place(location)}: ${text}`];
  if (location !== null) lines.push('', ...codeFrame(location));
  for (const note of notes) lines.push('', `note: ${note.text}`);
  return lines.join('\n');
}

type Location = NonNullable<Message['location']>;

function place({ file, line, column }: Location): string {
  return `${file}:${line}:${column + 1}`;
}

const frameColumnsMax = 120;

function codeFrame({ line, column, length, lineText }: Location): string[] {
  const gutter = `${line} | `;
  const from = column > frameColumnsMax - 20 ? column - 40 : 0;
  const text = lineText.slice(from, from + frameColumnsMax);
  const indent = text.slice(0, column - from).replace(/[^\t]/g, ' ');
  const marks = '^'.repeat(Math.max(1, Math.min(length, text.length - (column - from))));
  return [`  ${gutter}${text}`, `  ${' '.repeat(gutter.length - 2)}| ${indent}${marks}`];
}
