import path from 'node:path';
import type { Command } from 'commander';
import { auditText } from '../audit-text.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';

interface AuditFlags {
  readonly numLines: string;
  readonly dataDir?: string;
  readonly format: string;
}

export function addAudit(program: Command, io: Io): void {
  withYes(withServer(program.command('audit')))
    .description('print who did what: publishing, deleting, roles, tokens, and what was refused')
    .option('-n, --num-lines <n>', 'only the last lines', '100')
    .option('--data-dir <dir>', 'read the folder itself instead of asking a service')
    .option('--format <format>', 'text or json', 'text')
    .action(async (flags: AuditFlags, command: Command) => {
      const { numLines, format } = flags;
      if (!/^\d{1,9}$/.test(numLines)) throw new CliError('--num-lines: a whole number', 2);
      if (format !== 'text' && format !== 'json') throw new CliError('--format: text or json', 2);
      const lines = await auditLines(io, flags, command);
      if (format === 'json') for (const line of lines) io.out(line);
      else io.out(auditText(lines));
    });
}

async function auditLines(
  io: Io,
  { dataDir, numLines }: AuditFlags,
  command: Command,
): Promise<readonly string[]> {
  if (dataDir !== undefined) {
    const { auditLines } = await import('../../service/data-folder.ts');
    return auditLines(path.resolve(io.cwd, dataDir), Number(numLines));
  }
  const api = await new Session(io, command).apiWithIdentity();
  const text = await api.text('GET', `/v1/audit?num_lines=${numLines}`);
  return text.split('\n').filter((line) => line !== '');
}
