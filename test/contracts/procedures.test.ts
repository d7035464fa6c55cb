import { shopOpener } from '../support/shop.ts';
import { proceduresContract } from './procedures.contract.ts';

const budget = { callMillisMax: 2_000, workerHeapMebibytesMax: 48 };
proceduresContract('local', shopOpener('local', budget), false);
proceduresContract('thread', shopOpener('thread', budget), true);
proceduresContract('process', shopOpener('process', budget), true);
