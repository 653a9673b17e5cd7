# SPDX-License-Identifier: BSD-3-Clause
# Recipes of frameworks, hpcboot-recipe(5). hbrun finds them below its own
# folder, also in a build tree, where configure links this one.
recipesdir = $(pkgdatadir)/recipes
dist_recipes_DATA = \
    %D%/recipes/deepspeed.conf \
    %D%/recipes/deepspeed-launcher.conf \
    %D%/recipes/hccl.conf \
    %D%/recipes/horovod.conf \
    %D%/recipes/jax.conf \
    %D%/recipes/mindspore.conf \
    %D%/recipes/mpi.conf \
    %D%/recipes/mxnet.conf \
    %D%/recipes/none.conf \
    %D%/recipes/paddle.conf \
    %D%/recipes/paddle-launcher.conf \
    %D%/recipes/ray.conf \
    %D%/recipes/spark.conf \
    %D%/recipes/tensorflow.conf \
    %D%/recipes/torch.conf \
    %D%/recipes/torchrun.conf \
    %D%/recipes/xgboost.conf
distclean-local:
	test ! -h share/hpcboot/recipes || rm -f share/hpcboot/recipes
