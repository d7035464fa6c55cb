import path from 'node:path';
import type { Command } from 'commander';
import { limits } from '../../limits.ts';
import { auditText } from '../audit-text.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { checkFormat, lineCountFault, withFormat, withServer, withYes } from '../shared-flags.ts';

interface AuditFlags {
  readonly numLines: string;
  readonly dataDir?: string;
  readonly format: string;
}

export function addAudit(program: Command, io: Io): void {
  withFormat(withYes(withServer(program.command('audit'))))
    .description('print the audit log: publishing, deletion, roles, tokens and refused attempts')
    .option('-n, --num-lines <n>', 'print only the last <n> lines', '100')
    .option('--data-dir <dir>', 'read the log in this data folder instead of asking a service')
    .action(async (flags: AuditFlags, command: Command) => {
      const { numLines, format } = flags;
      if (!/^\d{1,9}$/.test(numLines)) throw new CliError(lineCountFault, 2);
      checkFormat(format);
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
  const text = await api.text('GET', `/v1/audit?num_lines=${numLines}`, {
    answerBytesMax: limits.rowsAnswerBytesMax,
  });
  return text.split('\n').filter((line) => line !== '');
}
