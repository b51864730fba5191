// Lets a program find those frameworks: node --import .../frameworks/register.mjs PROGRAM
import { register } from 'node:module';

register('./resolve.mjs', import.meta.url);
