import { shopOpener } from '../support/shop.ts';
import { previewContract } from './preview.contract.ts';

previewContract('local', shopOpener('local'));
previewContract('worker', shopOpener('worker'));
