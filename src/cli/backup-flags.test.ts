import { expect, it } from 'vitest';
import { newPassphrase } from './backup-flags.ts';
import { CliError, type Io } from './io.ts';
import { refuseFlags } from './shared-flags.ts';

/** A terminal, or a pipe, in which somebody types these answers. */
function typing(isInteractive: boolean, ...answers: string[]): { io: Io; left: string[] } {
  const io = { isInteractive, askHidden: async () => answers.shift() } as unknown as Io;
  return { io, left: answers };
}

it('[history 5.10] a new passphrase is typed twice in a terminal, once in a pipe', async () => {
  const terminal = typing(true, 'a long one', 'a long one');
  expect(await newPassphrase(terminal.io)).toBe('a long one');
  expect(terminal.left).toEqual([]);
  expect(await newPassphrase(typing(false, 'a long one').io)).toBe('a long one');
});

it.each([
  ['other the second time', true, ['a long one', 'a long 1'], 'The two passphrases differ'],
  ['missing the second time', true, ['a long one'], 'The two passphrases differ'],
  ['empty', true, ['', ''], 'The passphrase is empty'],
  ['blank in a pipe', false, [' \t'], 'The passphrase is empty'],
  ['missing', false, [], 'Nobody can type a passphrase here'],
] as const)(
  '[history 5.10] a passphrase that is %s is refused',
  async (_, isInteractive, answers, text) => {
    await expect(newPassphrase(typing(isInteractive, ...answers).io)).rejects.toThrow(text);
  },
);

it('[cli 2.17] a flag that would be ignored is named as it was written', () => {
  const flags: { identityFile?: string; at?: string } = { identityFile: 'key.txt' };
  expect(() => refuseFlags(flags, ['at'], 'is for something else')).not.toThrow();
  expect(() => refuseFlags(flags, ['at', 'identityFile'], 'is for something else')).toThrow(
    new CliError('--identity-file is for something else', 2),
  );
});
