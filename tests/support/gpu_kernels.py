"""The operations of a trace that a GPU would not run, and those for which it would copy numbers to the host.

TensorFlow's registry of kernels tells them, also where there is no GPU.

The wheels for Linux register their kernels for GPUs on any machine. A kernel says which of its arguments it keeps in
the memory of the host, where TensorFlow computes with int32.
"""

import functools

import tensorflow as tf
from tensorflow.python.framework import kernels

# TensorFlow passes int32 to a function in the memory of the host, whatever the function does with it.
CALLS = {"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "While", "StatelessWhile"}
CALLS |= {"Case", "StatelessCase", "Placeholder"}
PASSED_ON_HOST = {tf.int32, tf.string, tf.resource}
# Lists of cases have at least so many items. Seeds, and numbers of which a list has one, have a shorter last axis.
LIST_SIZE = 5


def operations(trace):
    """All operations of a concrete function, with those of the functions that it calls, such as branches and loops."""
    graphs, known = [trace.graph], set()
    while graphs:
        graph = graphs.pop()
        for operation in graph.get_operations():
            yield operation
            for attribute in _attributes(operation).values():
                for name in {each.name for each in (attribute.func, *attribute.list.func) if each.name} - known:
                    known.add(name)
                    graphs.append(graph._get_function(name).graph)


def without_kernel(trace, devices=("GPU", "DEFAULT")):
    """The operations of a trace for which TensorFlow has no kernel on these devices, with their dtypes."""
    # A placeholder is an argument of a function.
    found = (each for each in operations(trace) if each.type != "Placeholder")
    return {_named(each) for each in found if _kernel(each, devices) is None}


def copied_to_host(trace):
    """The files of the package whose operations would copy lists of numbers from the GPU to the host, with lines."""
    found = {}
    for operation in operations(trace):
        for tensor, to_host in zip(operation.inputs, _on_host(operation)[0], strict=True):
            if to_host and _is_list(tensor) and not _on_host(tensor.op)[1][tensor.value_index]:
                file, line = place(operation)
                found.setdefault(file, set()).add(f"{line}: {tensor.op.type} -> {operation.type} {tensor.shape}")
    return found


def _is_list(tensor):
    if tensor.shape.rank is None:
        return True
    return tensor.shape.rank > 0 and (tensor.shape[-1] is None or tensor.shape[-1] >= LIST_SIZE)


@functools.lru_cache(maxsize=10_000)
def _attributes(operation):
    return operation.node_def.attr


def _named(operation):
    names = sorted({tf.as_dtype(each).name for each in _types(_attributes(operation).values())})
    return f"{operation.type} of {' and '.join(names)}" if names else operation.type


def _types(attributes):
    for attribute in attributes:
        yield from attribute.list.type
        if attribute.type:
            yield attribute.type


@functools.cache
def _registered(name, devices):
    # An operation without a label takes no kernel with one.
    found = [each for each in kernels.get_registered_kernels_for_op(name).kernel if not each.label]
    # A kernel for GPUs goes before one for any device.
    return [each for device in devices for each in found if each.device_type == device]


def _kernel(operation, devices=("GPU", "DEFAULT")):
    """The kernel that takes the dtypes of the operation, or None."""
    attributes = _attributes(operation)
    for kernel in _registered(operation.type, devices):
        allowed = ((each.name, each.allowed_values.list.type) for each in kernel.constraint)
        if all(set(_types([attributes[name]])) <= set(types) for name, types in allowed):
            return kernel
    return None


@functools.lru_cache(maxsize=10_000)
def _on_host(operation):
    """Whether each input and each output of the operation is in the memory of the host."""
    kernel, definition = _kernel(operation), operation.op_def
    kept = set() if kernel is None else set(kernel.host_memory_arg)
    is_call, places = operation.type in CALLS, []
    for tensors, given in ((operation.inputs, definition.input_arg), (operation.outputs, definition.output_arg)):
        names = [name for each in given for name in [each.name] * _count(operation, each)]
        places.append(
            [
                kernel is None or name in kept or (is_call and tensor.dtype in PASSED_ON_HOST)
                for name, tensor in zip(names, tensors, strict=True)
            ]
        )
    return places


def _count(operation, argument):
    """How many tensors an argument of an operation has."""
    attributes = _attributes(operation)
    if argument.number_attr:
        return attributes[argument.number_attr].i
    return len(attributes[argument.type_list_attr].list.type) if argument.type_list_attr else 1


def place(operation):
    """The file of the package that made an operation, and the line."""
    ours = [each for each in operation.traceback if "/keras_softsort/" in each.filename]
    return (ours[-1].filename.rpartition("/keras_softsort/")[2], ours[-1].lineno) if ours else ("other packages", 0)
