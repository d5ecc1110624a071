"""Reading packed data in a training, behind `windlass_job.data`: samples, their order, batches of decoded images.

The standard library is enough; NumPy, PyTorch and decoders of images are used where the training has them.
"""
