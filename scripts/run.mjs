import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's root folder. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs `node script ...args` in the project's root and resolves with its exit code. */
export function runNode(script, args = [], environment = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...environment },
    });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(signal === null ? code : 1));
  });
}

/** The file that starts the command `name` of an installed package. */
export function packageBin(packageName, name) {
  const require = createRequire(import.meta.url);
  const manifestFile = path.join(root, 'node_modules', packageName, 'package.json');
  const manifest = require(manifestFile);
  const bin = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[name];
  return path.join(path.dirname(manifestFile), bin);
}
