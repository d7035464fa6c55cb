import { shopOpener } from '../support/shop.ts';
import { handlersContract } from './handlers.contract.ts';

const budget = { callMillisMax: 3_000 };

handlersContract('local', shopOpener('local', budget), false);
handlersContract('thread', shopOpener('thread', budget), true);
handlersContract('process', shopOpener('process', budget), true);
