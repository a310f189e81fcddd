"""Cases of `harden`."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.operation import PAIRS, Operation
from support.oracles import sorting as oracles

ORACLE = oracles.harden
OPERATIONS = [Operation("harden", lambda p: ks.ops.harden(tf.nn.softmax(p)), PAIRS)]
