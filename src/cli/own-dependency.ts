import path from 'node:path';
import { productVersion } from '../service/version.ts';
import { isInstalled, packageFolder, packedFile } from './installation.ts';

/** The dependency that lets `npm install` in `folder` find this package. */
export function ownDependency(folder: string): string {
  const source = isInstalled ? packedFile(packageFolder) : packageFolder;
  if (source === undefined) return `^${productVersion}`;
  return `file:${path.relative(folder, source).split(path.sep).join('/')}`;
}
