// Compiles `src` to `dist`: JavaScript, type declarations and source maps, file by file.
import { chmodSync, rmSync } from 'node:fs';
import path from 'node:path';
import { packageBin, root, runNode } from './run.mjs';

const dist = path.join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
const code = await runNode(packageBin('typescript', 'tsc'), ['-p', 'tsconfig.build.json']);
if (code === 0) chmodSync(path.join(dist, 'cli/main.js'), 0o755);
process.exitCode = code;
